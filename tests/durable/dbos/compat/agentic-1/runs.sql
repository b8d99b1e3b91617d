BEGIN TRANSACTION;
CREATE TABLE agentic_controls (
	id INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "agentic_controls" VALUES(1,'18eab0dadb3a7f12-ba5c25bc','ask','{"call_id": "call_198b1aab79e715f623087ab2f7066e0d", "name": "pay", "arguments": "{\"amount\": 5}"}');
INSERT INTO "agentic_controls" VALUES(2,'18eab0dcc82e44ff-0c242060','steer','{"message": "look twice"}');
CREATE TABLE agentic_events (
	id INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (run, "key")
);
INSERT INTO "agentic_events" VALUES(1,'18eab0dad82113f9-ccfc0941','event/0','{"type": "message_end", "role": "user", "content": "hi"}');
INSERT INTO "agentic_events" VALUES(2,'18eab0dad996e06e-437315ff','event/0','{"type": "message_end", "role": "user", "content": "break"}');
INSERT INTO "agentic_events" VALUES(3,'18eab0dadb3a7f12-ba5c25bc','event/0','{"type": "message_end", "role": "user", "content": "pay"}');
INSERT INTO "agentic_events" VALUES(4,'18eab0dadb3a7f12-ba5c25bc','event/1','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(5,'18eab0dadc658253-88a4482b','event/0','{"type": "message_end", "role": "user", "content": "remember"}');
INSERT INTO "agentic_events" VALUES(6,'18eab0dadc658253-88a4482b','event/1','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(7,'18eab0dad996e06e-437315ff','event/1','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(8,'18eab0dadb3a7f12-ba5c25bc','event/2','{"type": "message_end", "role": "assistant", "content": "I pay."}');
INSERT INTO "agentic_events" VALUES(9,'18eab0dadb3a7f12-ba5c25bc','event/3','{"type": "tool_execution_start", "call_id": "call_198b1aab79e715f623087ab2f7066e0d", "name": "pay", "arguments": "{\"amount\": 5}"}');
INSERT INTO "agentic_events" VALUES(10,'18eab0dad82113f9-ccfc0941','event/1','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(11,'18eab0dad82113f9-ccfc0941','event/2','{"type": "message_end", "role": "assistant", "content": "Hello."}');
INSERT INTO "agentic_events" VALUES(12,'18eab0dadc658253-88a4482b','event/2','{"type": "message_end", "role": "assistant", "content": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}');
INSERT INTO "agentic_events" VALUES(13,'18eab0dcc82e44ff-0c242060','event/0','{"type": "message_end", "role": "user", "content": "work"}');
INSERT INTO "agentic_events" VALUES(14,'18eab0dcc82e44ff-0c242060','event/1','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(15,'18eab0dcc82e44ff-0c242060','event/2','{"type": "message_end", "role": "assistant", "content": "I read."}');
INSERT INTO "agentic_events" VALUES(16,'18eab0dcc82e44ff-0c242060','event/3','{"type": "tool_execution_start", "call_id": "call_ca9fba4971a1ca3be864f4914e5a5614", "name": "read", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(17,'18eab0dcc82e44ff-0c242060','event/4','{"type": "message_end", "role": "tool", "content": ""}');
INSERT INTO "agentic_events" VALUES(18,'18eab0dcc82e44ff-0c242060','event/5','{"type": "tool_execution_end", "call_id": "call_ca9fba4971a1ca3be864f4914e5a5614", "name": "read", "output": "0000 test_parser.py ok\n0001 test_parser.py ok\n0002 test_parser.py ok\n0003 test_parser.py ok\n0004 test_parser.py ok\n0005 test_parser.py ok\n0006 test_parser.py ok\n0007 test_parser.py ok\n0008 test_parser.py ok\n0009 test_parser.py ok\n0010 test_parser.py ok\n0011 test_parser.py ok\n0012 test_parser.py ok\n0013 test_parser.py ok\n0014 test_parser.py ok\n0015 test_parser.py ok\n0016 test_parser.py ok\n0017 test_parser.py ok\n0018 test_parser.py ok\n0019 test_parser.py ok\n0020 test_parser.py ok\n0021 test_parser.py ok\n0022 test_parser.py ok\n0023 test_parser.py ok\n0024 test_parser.py ok\n0025 test_parser.py ok\n0026 test_parser.py ok\n0027 test_parser.py ok\n0028 test_parser.py ok\n0029 test_parser.py ok\n0030 test_parser.py ok\n0031 test_parser.py ok\n0032 test_parser.py ok\n0033 test_parser.py ok\n0034 test_parser.py ok\n0035 test_parser.py ok\n0036 test_parser.py ok\n0037 test_parser.py ok\n0038 test_parser.py ok\n0039 test_parser.py ok\n0040 test_parser.py ok\n0041 test_parser.py ok\n0042 test_parser.py ok\n0043 test_parser.py ok\n0044 test_parser.py ok\n0045 test_parser.py ok\n0046 test_parser.py ok\n0047 test_parser.py ok\n0048 test_parser.py ok\n0049 test_parser.py ok\n0050 test_parser.py ok\n0051 test_parser.py ok\n0052 test_parser.py ok\n0053 test_parser.py ok\n0054 test_parser.py ok\n0055 test_parser.py ok\n0056 test_parser.py ok\n0057 test_parser.py ok\n0058 test_parser.py ok\n0059 test_parser.py ok\n0060 test_parser.py ok\n0061 test_parser.py ok\n0062 test_parser.py ok\n0063 test_parser.py ok\n0064 test_parser.py ok\n0065 test_parser.py ok\n0066 test_parser.py ok\n0067 test_parser.py ok\n0068 test_parser.py ok\n0069 test_parser.py ok\n0070 test_parser.py ok\n0071 test_parser.py ok\n0072 test_parser.py ok\n0073 test_parser.py ok\n0074 test_parser.py ok\n0075 test_parser.py ok\n0076 test_parser.py ok\n0077 test_parser.py ok\n0078 test_parser.py ok\n0079 test_parser.py ok\n0080 test_parser.py ok\n0081 test_parser.py ok\n0082 test_parser.py ok\n0083 test_parser.py ok\n0084 test_parser.py ok\n0085 test_parser.py ok\n0086 test_parser.py ok", "error": ""}');
INSERT INTO "agentic_events" VALUES(19,'18eab0dcc82e44ff-0c242060','event/6','{"type": "message_end", "role": "user", "content": "look twice"}');
INSERT INTO "agentic_events" VALUES(20,'18eab0dcc82e44ff-0c242060','event/7','{"type": "turn_start", "turn": 2}');
INSERT INTO "agentic_events" VALUES(21,'18eab0dcc82e44ff-0c242060','event/8','{"type": "message_end", "role": "assistant", "content": "I act."}');
INSERT INTO "agentic_events" VALUES(22,'18eab0dcc82e44ff-0c242060','event/9','{"type": "tool_execution_start", "call_id": "call_645005bf9e928fd192823120465e411d", "name": "count", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(23,'18eab0dcc82e44ff-0c242060','event/10','{"type": "tool_execution_start", "call_id": "call_cb640bbaf3bf00f7ef38485a72f09f18", "name": "send", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(24,'18eab0dcc82e44ff-0c242060','event/11','{"type": "tool_execution_start", "call_id": "call_b71f694b77fafed964a306f02e292e22", "name": "store", "arguments": "{}"}');
CREATE TABLE agentic_keys (
	"key" TEXT NOT NULL, 
	run TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE agentic_workers (
	id TEXT NOT NULL, 
	service TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "agentic_workers" VALUES('worker','agentic',1,1.79544186717301559449e+09);
CREATE TABLE application_versions (
    version_id TEXT NOT NULL PRIMARY KEY,
    version_name TEXT NOT NULL UNIQUE,
    version_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    created_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
, "application_name" TEXT DEFAULT NULL);
INSERT INTO "application_versions" VALUES('dbde3cc5-da62-4520-bbea-bf7cbeec0659','agentic-1',1795441861000,1795441861000,'agentic');
CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO "dbos_migrations" VALUES(125);
CREATE TABLE notifications (
    message_uuid TEXT NOT NULL DEFAULT (hex(randomblob(16))) PRIMARY KEY,
    destination_uuid TEXT NOT NULL,
    topic TEXT,
    message TEXT NOT NULL,
    created_at_epoch_ms INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000), "serialization" TEXT DEFAULT NULL, "consumed" BOOLEAN NOT NULL DEFAULT FALSE, consumed_by_function_id INTEGER,
    FOREIGN KEY (destination_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE "operation_outputs" (
    workflow_uuid TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    function_name TEXT NOT NULL DEFAULT '',
    output TEXT,
    error TEXT,
    child_workflow_id TEXT,
    started_at_epoch_ms INTEGER,
    completed_at_epoch_ms INTEGER,
    serialization TEXT,
    application_name TEXT DEFAULT NULL,
    retention_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    PRIMARY KEY (workflow_uuid, function_id)
);
INSERT INTO "operation_outputs" VALUES('18eab0dadb3a7f12-ba5c25bc',1,'open session','{"value":0,"arrived":[]}',NULL,NULL,1795441862828,1795441862932,'agentic_json','agentic',1795441862000);
INSERT INTO "operation_outputs" VALUES('18eab0dad996e06e-437315ff',1,'open session','{"value":0,"arrived":[]}',NULL,NULL,1795441862901,1795441862937,'agentic_json','agentic',1795441862000);
INSERT INTO "operation_outputs" VALUES('18eab0dadb3a7f12-ba5c25bc',2,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:02.971832+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441862954,1795441862972,'agentic_json','agentic',1795441862000);
INSERT INTO "operation_outputs" VALUES('18eab0dad82113f9-ccfc0941',1,'open session','{"value":0,"arrived":[]}',NULL,NULL,1795441862928,1795441862938,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dadc658253-88a4482b',1,'open session','{"value":0,"arrived":[]}',NULL,NULL,1795441862938,1795441862939,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dad996e06e-437315ff',2,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:02.990313+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441862973,1795441862996,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dadc658253-88a4482b',2,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:03.131324+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441863122,1795441863131,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dad996e06e-437315ff',3,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:03.149811+00:00","error":{"kind":"ValueError","problem":"no such model"}},"arrived":[]}',NULL,NULL,1795441863136,1795441863149,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dadb3a7f12-ba5c25bc',3,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:03.017660+00:00","message":{"v":1,"role":"assistant","content":"I pay.","tool_calls":[{"id":"","name":"pay","arguments":"{\"amount\": 5}"}]},"stop_reason":"tool"},"arrived":[]}',NULL,NULL,1795441862998,1795441863028,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dadc658253-88a4482b',3,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:03.169180+00:00","message":{"v":1,"role":"assistant","content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},"stop_reason":"stop"},"arrived":[]}',NULL,NULL,1795441863153,1795441863170,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dad82113f9-ccfc0941',2,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:03.121471+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441863045,1795441863124,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dad82113f9-ccfc0941',3,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:03.450424+00:00","message":{"v":1,"role":"assistant","content":"Hello.","usage":{"input":10,"output":2}},"stop_reason":"stop"},"arrived":[]}',NULL,NULL,1795441863446,1795441863450,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',1,'open session','{"value":2,"arrived":[]}',NULL,NULL,1795441863934,1795441863935,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',2,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:03.942857+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441863941,1795441863943,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',3,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:03.956402+00:00","message":{"v":1,"role":"assistant","content":"I read.","reasoning":"The log first.","tool_calls":[{"id":"","name":"read"}]},"stop_reason":"tool"},"arrived":[]}',NULL,NULL,1795441863953,1795441863956,'agentic_json','agentic',1795441863000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',4,'tool read','{"value":{"v":1,"ended":"2026-11-23T13:51:05.029205+00:00","result":{},"output_ref":"out-6cb5ea9a2639705b"},"arrived":[[2,"look twice"]]}',NULL,NULL,1795441863969,1795441865029,'agentic_json','agentic',1795441865000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',5,'list_tools','{"value":{"v":1,"ended":"2026-11-23T13:51:05.076343+00:00","tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]},"arrived":[]}',NULL,NULL,1795441865074,1795441865076,'agentic_json','agentic',1795441865000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',6,'summarize','{"value":{"v":1,"ended":"2026-11-23T13:51:05.110902+00:00","summary":"5 messages.","notes":{}},"arrived":[]}',NULL,NULL,1795441865109,1795441865111,'agentic_json','agentic',1795441865000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',7,'decide','{"value":{"v":1,"ended":"2026-11-23T13:51:05.129204+00:00","message":{"v":1,"role":"assistant","content":"I act.","tool_calls":[{"id":"","name":"count"},{"id":"","name":"send"},{"id":"","name":"store"}]},"stop_reason":"tool"},"arrived":[]}',NULL,NULL,1795441865126,1795441865129,'agentic_json','agentic',1795441865000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',10,'intend send','{"value":{"v":1,"ended":"2026-11-23T13:51:05.191759+00:00","token":"bd2b791fbb40032050e2129d405e008f"},"arrived":[]}',NULL,NULL,1795441865136,1795441865191,'agentic_json','agentic',1795441865000);
INSERT INTO "operation_outputs" VALUES('18eab0dcc82e44ff-0c242060',8,'tool count','{"value":{"v":1,"ended":"2026-11-23T13:51:05.191166+00:00","result":{"output":"count is done"}},"arrived":[]}',NULL,NULL,1795441865134,1795441865191,'agentic_json','agentic',1795441865000);
CREATE TABLE queues (
    queue_id TEXT PRIMARY KEY DEFAULT (hex(randomblob(16))),
    name TEXT NOT NULL UNIQUE,
    concurrency INTEGER,
    worker_concurrency INTEGER,
    rate_limit_max INTEGER,
    rate_limit_period_sec REAL,
    priority_enabled BOOLEAN NOT NULL DEFAULT FALSE,
    partition_queue BOOLEAN NOT NULL DEFAULT FALSE,
    polling_interval_sec REAL NOT NULL DEFAULT 1.0,
    created_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    updated_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
, "application_name" TEXT DEFAULT NULL, "partition_concurrency" INTEGER DEFAULT NULL, "partition_worker_concurrency" INTEGER DEFAULT NULL, "partition_rate_limit_max" INTEGER DEFAULT NULL, "partition_rate_limit_period_sec" REAL DEFAULT NULL);
INSERT INTO "queues" VALUES('B4A664EDFF86C05493D1811C5C71D9B9','agentic',NULL,100,NULL,NULL,1,1,0.1,1795441861000,1795441861468,'agentic',1,NULL,NULL,NULL);
CREATE TABLE streams (
    workflow_uuid TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    "offset" INTEGER NOT NULL, function_id INTEGER NOT NULL DEFAULT 0, "serialization" TEXT DEFAULT NULL,
    PRIMARY KEY (workflow_uuid, key, "offset"),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE workflow_events (
    workflow_uuid TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL, "serialization" TEXT DEFAULT NULL,
    PRIMARY KEY (workflow_uuid, key),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE workflow_events_history (
    workflow_uuid TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL, "serialization" TEXT DEFAULT NULL,
    PRIMARY KEY (workflow_uuid, function_id, key),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid)
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE workflow_input (
    workflow_uuid TEXT NOT NULL PRIMARY KEY,
    inputs TEXT,
    retention_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
);
INSERT INTO "workflow_input" VALUES('18eab0dad82113f9-ccfc0941','{"args":["done","hi","2026-11-23T13:50:55.435998+00:00"],"kwargs":{}}',1795441855000);
INSERT INTO "workflow_input" VALUES('18eab0dad996e06e-437315ff','{"args":["broken","break","2026-11-23T13:50:55.460492+00:00"],"kwargs":{}}',1795441855000);
INSERT INTO "workflow_input" VALUES('18eab0dadb3a7f12-ba5c25bc','{"args":["asked","pay","2026-11-23T13:50:55.487987+00:00"],"kwargs":{}}',1795441855000);
INSERT INTO "workflow_input" VALUES('18eab0dadc658253-88a4482b','{"args":["killed","remember","2026-11-23T13:50:55.507581+00:00"],"kwargs":{}}',1795441855000);
INSERT INTO "workflow_input" VALUES('18eab0dcc82e44ff-0c242060','{"args":["killed","work","2026-11-23T13:51:03.758355+00:00"],"kwargs":{}}',1795441863000);
INSERT INTO "workflow_input" VALUES('18eab0dd5cbec812-5edb141b','{"args":["later","hi","2026-11-23T13:51:06.250854+00:00"],"kwargs":{}}',1795441866000);
CREATE TABLE workflow_output (
    workflow_uuid TEXT NOT NULL PRIMARY KEY,
    output TEXT,
    error TEXT,
    retention_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
);
INSERT INTO "workflow_output" VALUES('18eab0dad996e06e-437315ff','{"state":"failed","problem":"StepFailed: decide failed: ValueError: no such model"}',NULL,1795441863000);
INSERT INTO "workflow_output" VALUES('18eab0dad82113f9-ccfc0941','{"state":"done","reply":"Hello.","exhausted":false,"limit":null,"stop_reason":"stop","usage":{"input":10,"output":2,"total":12,"cache_read":0,"cache_write":0,"reasoning":0}}',NULL,1795441863000);
INSERT INTO "workflow_output" VALUES('18eab0dadc658253-88a4482b','{"state":"done","reply":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","exhausted":false,"limit":null,"stop_reason":"stop","usage":{"input":0,"output":0,"total":0,"cache_read":0,"cache_write":0,"reasoning":0}}',NULL,1795441863000);
CREATE TABLE workflow_schedules (
    schedule_id TEXT PRIMARY KEY,
    schedule_name TEXT NOT NULL UNIQUE,
    workflow_name TEXT NOT NULL,
    workflow_class_name TEXT,
    schedule TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'ACTIVE',
    context TEXT NOT NULL
, "last_fired_at" TEXT DEFAULT NULL, "automatic_backfill" BOOLEAN NOT NULL DEFAULT FALSE, "cron_timezone" TEXT DEFAULT NULL, "queue_name" TEXT DEFAULT NULL, "application_name" TEXT DEFAULT NULL);
CREATE TABLE workflow_status (
    workflow_uuid TEXT PRIMARY KEY,
    status TEXT,
    name TEXT,
    authenticated_user TEXT,
    assumed_role TEXT,
    authenticated_roles TEXT,
    request TEXT,
    output TEXT,
    error TEXT,
    executor_id TEXT,
    created_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    updated_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    application_version TEXT,
    application_id TEXT,
    class_name TEXT DEFAULT NULL,
    config_name TEXT DEFAULT NULL,
    recovery_attempts INTEGER DEFAULT 0,
    queue_name TEXT,
    workflow_timeout_ms INTEGER,
    workflow_deadline_epoch_ms INTEGER,
    inputs TEXT,
    started_at_epoch_ms INTEGER,
    deduplication_id TEXT,
    priority INTEGER NOT NULL DEFAULT 0
, queue_partition_key TEXT, forked_from TEXT, "owner_xid" TEXT DEFAULT NULL, "parent_workflow_id" TEXT DEFAULT NULL, "serialization" TEXT DEFAULT NULL, "delay_until_epoch_ms" BIGINT DEFAULT NULL, "was_forked_from" BOOLEAN NOT NULL DEFAULT FALSE, "rate_limited" BOOLEAN NOT NULL DEFAULT FALSE, "completed_at" BIGINT, "attributes" TEXT, "schedule_name" TEXT, "debounce_deadline_epoch_ms" BIGINT DEFAULT NULL, "is_debounced" BOOLEAN NOT NULL DEFAULT FALSE, "application_name" TEXT DEFAULT NULL, "creator_xid" TEXT DEFAULT NULL);
INSERT INTO "workflow_status" VALUES('18eab0dad82113f9-ccfc0941','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795441855000,1795441863000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795441862000,NULL,1,'done',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795441863000,'null',NULL,NULL,0,'agentic','bb356bd8-638a-4788-b192-378aca85e4b8');
INSERT INTO "workflow_status" VALUES('18eab0dad996e06e-437315ff','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795441855000,1795441863000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795441862000,NULL,1,'broken',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795441863000,'null',NULL,NULL,0,'agentic','64d40ca6-ca0a-4ff7-8ecf-fe35fc77da53');
INSERT INTO "workflow_status" VALUES('18eab0dadb3a7f12-ba5c25bc','PENDING','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795441855000,1795441862000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795441862000,NULL,1,'asked',NULL,'e92779e5-605a-4c7c-b057-2dcfd8ef610c',NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','2724ff03-45d0-469f-8b86-c5f9ec4da306');
INSERT INTO "workflow_status" VALUES('18eab0dadc658253-88a4482b','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795441855000,1795441863000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795441862000,NULL,1,'killed',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795441863000,'null',NULL,NULL,0,'agentic','8a6a04c2-5719-423a-96af-ce32d4b8cacb');
INSERT INTO "workflow_status" VALUES('18eab0dcc82e44ff-0c242060','PENDING','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795441863000,1795441863000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795441863000,NULL,1,'killed',NULL,'ee113404-adca-4735-a605-0dca1b7a5642',NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','19d8d72f-e8e6-491b-a338-d77a3f6df5f7');
INSERT INTO "workflow_status" VALUES('18eab0dd5cbec812-5edb141b','ENQUEUED','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795441866000,1795441866000,'agentic-1',NULL,NULL,NULL,0,'agentic',NULL,NULL,NULL,NULL,NULL,1,'later',NULL,NULL,NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','d866b5ee-fe66-4614-9ebe-bce59ac4a062');
CREATE INDEX ix_agentic_controls_run ON agentic_controls (run);
CREATE INDEX workflow_status_created_at_index ON workflow_status (created_at);
CREATE INDEX idx_workflow_topic ON notifications (destination_uuid, topic);
CREATE INDEX "idx_workflow_status_delayed" ON "workflow_status" ("delay_until_epoch_ms") WHERE status = 'DELAYED';
CREATE INDEX "idx_workflow_status_forked_from" ON "workflow_status" ("forked_from") WHERE "forked_from" IS NOT NULL;
CREATE INDEX "idx_workflow_status_parent_workflow_id" ON "workflow_status" ("parent_workflow_id") WHERE "parent_workflow_id" IS NOT NULL;
CREATE UNIQUE INDEX "uq_workflow_status_dedup_id" ON "workflow_status" ("queue_name", "deduplication_id") WHERE "deduplication_id" IS NOT NULL;
CREATE INDEX "idx_workflow_status_pending" ON "workflow_status" ("created_at") WHERE "status" = 'PENDING';
CREATE INDEX "idx_workflow_status_failed" ON "workflow_status" ("status", "created_at") WHERE "status" IN ('ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED');
CREATE INDEX "idx_workflow_status_rate_limited" ON "workflow_status" ("queue_name", "started_at_epoch_ms") WHERE "rate_limited" = TRUE;
CREATE INDEX "idx_workflow_status_completed_at" ON "workflow_status" ("completed_at") WHERE "completed_at" IS NOT NULL;
CREATE INDEX "idx_workflow_status_started_at" ON "workflow_status" ("started_at_epoch_ms") WHERE "started_at_epoch_ms" IS NOT NULL;
CREATE INDEX "idx_workflow_status_schedule_name" ON "workflow_status" ("schedule_name") WHERE "schedule_name" IS NOT NULL;
CREATE UNIQUE INDEX "uq_application_versions_owner_version"
    ON application_versions ("application_name", "version_name")
    WHERE "application_name" IS NOT NULL;
CREATE UNIQUE INDEX "uq_application_versions_unclaimed_version"
    ON application_versions ("version_name")
    WHERE "application_name" IS NULL;
CREATE INDEX idx_workflow_input_retention
    ON workflow_input (retention_timestamp);
CREATE INDEX idx_workflow_output_retention
    ON workflow_output (retention_timestamp);
CREATE INDEX idx_operation_outputs_retention
    ON operation_outputs (retention_timestamp);
CREATE INDEX "idx_workflow_status_in_flight_v2" ON "workflow_status" ("queue_name", "status", "priority", "created_at", "application_name") WHERE "status" IN ('ENQUEUED', 'PENDING');
CREATE INDEX "idx_workflow_status_partition_dequeue_v3" ON "workflow_status" ("queue_name", "status", "queue_partition_key", "priority", "created_at", "workflow_uuid", "application_name") WHERE "status" IN ('ENQUEUED', 'PENDING') AND "queue_partition_key" IS NOT NULL;
CREATE INDEX "idx_operation_outputs_completed_at_function_name_v2" ON "operation_outputs" ("completed_at_epoch_ms", "function_name", "application_name");
CREATE INDEX "idx_workflow_status_deadline" ON "workflow_status" ("workflow_deadline_epoch_ms") WHERE "status" IN ('ENQUEUED', 'PENDING', 'DELAYED') AND "workflow_deadline_epoch_ms" IS NOT NULL;
CREATE INDEX "idx_application_versions_timestamp" ON "application_versions" ("version_timestamp" DESC);
CREATE INDEX "idx_application_versions_owner_timestamp" ON "application_versions" ("application_name", "version_timestamp" DESC);
COMMIT;
