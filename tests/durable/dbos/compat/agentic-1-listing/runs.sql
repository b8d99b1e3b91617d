BEGIN TRANSACTION;
CREATE TABLE agentic_attempts (
	run TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	PRIMARY KEY (run)
);
CREATE TABLE agentic_controls (
	id INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "agentic_controls" VALUES(1,'18ec41d7be9b844c-fd287705','ask','{"call_id": "call_ceb87bb9a7bf5b2c4a15f6a1b90a0a05", "name": "pay", "arguments": "{\"amount\": 5}"}');
INSERT INTO "agentic_controls" VALUES(2,'18ec41d9769533e3-fdd402a9','steer','{"message": "look twice"}');
CREATE TABLE agentic_events (
	id INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (run, "key")
);
INSERT INTO "agentic_events" VALUES(1,'18ec41d7be9b844c-fd287705','message_end//0','{"type": "message_end", "role": "user", "content": "pay"}');
INSERT INTO "agentic_events" VALUES(2,'18ec41d7be9b844c-fd287705','turn_start//0','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(3,'18ec41d7be9b844c-fd287705','message_end//1','{"type": "message_end", "role": "assistant", "content": "I pay."}');
INSERT INTO "agentic_events" VALUES(4,'18ec41d7be9b844c-fd287705','tool_execution_start/call_ceb87bb9a7bf5b2c4a15f6a1b90a0a05/0','{"type": "tool_execution_start", "call_id": "call_ceb87bb9a7bf5b2c4a15f6a1b90a0a05", "name": "pay", "arguments": "{\"amount\": 5}"}');
INSERT INTO "agentic_events" VALUES(5,'18ec41d7be6d1aff-1ec04762','message_end//0','{"type": "message_end", "role": "user", "content": "break"}');
INSERT INTO "agentic_events" VALUES(6,'18ec41d7be6d1aff-1ec04762','turn_start//0','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(7,'18ec41d7beb80876-c6ac4cce','message_end//0','{"type": "message_end", "role": "user", "content": "remember"}');
INSERT INTO "agentic_events" VALUES(8,'18ec41d7beb80876-c6ac4cce','turn_start//0','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(9,'18ec41d7beb80876-c6ac4cce','message_end//1','{"type": "message_end", "role": "assistant", "content": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}');
INSERT INTO "agentic_events" VALUES(10,'18ec41d7bb7b933d-efeece84','message_end//0','{"type": "message_end", "role": "user", "content": "hi"}');
INSERT INTO "agentic_events" VALUES(11,'18ec41d7bb7b933d-efeece84','turn_start//0','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(12,'18ec41d7bb7b933d-efeece84','message_end//1','{"type": "message_end", "role": "assistant", "content": "Hello."}');
INSERT INTO "agentic_events" VALUES(13,'18ec41d9769533e3-fdd402a9','message_end//0','{"type": "message_end", "role": "user", "content": "work"}');
INSERT INTO "agentic_events" VALUES(14,'18ec41d9769533e3-fdd402a9','turn_start//0','{"type": "turn_start", "turn": 1}');
INSERT INTO "agentic_events" VALUES(15,'18ec41d9769533e3-fdd402a9','message_end//1','{"type": "message_end", "role": "assistant", "content": "I read."}');
INSERT INTO "agentic_events" VALUES(16,'18ec41d9769533e3-fdd402a9','tool_execution_start/call_58049c53dd10dfa931792b38a18d10b4/0','{"type": "tool_execution_start", "call_id": "call_58049c53dd10dfa931792b38a18d10b4", "name": "read", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(17,'18ec41d9769533e3-fdd402a9','message_end//2','{"type": "message_end", "role": "tool", "content": ""}');
INSERT INTO "agentic_events" VALUES(18,'18ec41d9769533e3-fdd402a9','tool_execution_end/call_58049c53dd10dfa931792b38a18d10b4/0','{"type": "tool_execution_end", "call_id": "call_58049c53dd10dfa931792b38a18d10b4", "name": "read", "output": "0000 test_parser.py ok\n0001 test_parser.py ok\n0002 test_parser.py ok\n0003 test_parser.py ok\n0004 test_parser.py ok\n0005 test_parser.py ok\n0006 test_parser.py ok\n0007 test_parser.py ok\n0008 test_parser.py ok\n0009 test_parser.py ok\n0010 test_parser.py ok\n0011 test_parser.py ok\n0012 test_parser.py ok\n0013 test_parser.py ok\n0014 test_parser.py ok\n0015 test_parser.py ok\n0016 test_parser.py ok\n0017 test_parser.py ok\n0018 test_parser.py ok\n0019 test_parser.py ok\n0020 test_parser.py ok\n0021 test_parser.py ok\n0022 test_parser.py ok\n0023 test_parser.py ok\n0024 test_parser.py ok\n0025 test_parser.py ok\n0026 test_parser.py ok\n0027 test_parser.py ok\n0028 test_parser.py ok\n0029 test_parser.py ok\n0030 test_parser.py ok\n0031 test_parser.py ok\n0032 test_parser.py ok\n0033 test_parser.py ok\n0034 test_parser.py ok\n0035 test_parser.py ok\n0036 test_parser.py ok\n0037 test_parser.py ok\n0038 test_parser.py ok\n0039 test_parser.py ok\n0040 test_parser.py ok\n0041 test_parser.py ok\n0042 test_parser.py ok\n0043 test_parser.py ok\n0044 test_parser.py ok\n0045 test_parser.py ok\n0046 test_parser.py ok\n0047 test_parser.py ok\n0048 test_parser.py ok\n0049 test_parser.py ok\n0050 test_parser.py ok\n0051 test_parser.py ok\n0052 test_parser.py ok\n0053 test_parser.py ok\n0054 test_parser.py ok\n0055 test_parser.py ok\n0056 test_parser.py ok\n0057 test_parser.py ok\n0058 test_parser.py ok\n0059 test_parser.py ok\n0060 test_parser.py ok\n0061 test_parser.py ok\n0062 test_parser.py ok\n0063 test_parser.py ok\n0064 test_parser.py ok\n0065 test_parser.py ok\n0066 test_parser.py ok\n0067 test_parser.py ok\n0068 test_parser.py ok\n0069 test_parser.py ok\n0070 test_parser.py ok\n0071 test_parser.py ok\n0072 test_parser.py ok\n0073 test_parser.py ok\n0074 test_parser.py ok\n0075 test_parser.py ok\n0076 test_parser.py ok\n0077 test_parser.py ok\n0078 test_parser.py ok\n0079 test_parser.py ok\n0080 test_parser.py ok\n0081 test_parser.py ok\n0082 test_parser.py ok\n0083 test_parser.py ok\n0084 test_parser.py ok\n0085 test_parser.py ok\n0086 test_parser.py ok", "error": ""}');
INSERT INTO "agentic_events" VALUES(19,'18ec41d9769533e3-fdd402a9','message_end//3','{"type": "message_end", "role": "user", "content": "look twice"}');
INSERT INTO "agentic_events" VALUES(20,'18ec41d9769533e3-fdd402a9','context_compaction_end//0','{"type": "context_compaction_end", "reason": "window", "tokens_before": 5454, "tokens_after": 128, "dropped": 5, "problem": ""}');
INSERT INTO "agentic_events" VALUES(21,'18ec41d9769533e3-fdd402a9','epoch_start//0','{"type": "epoch_start", "changes": ["compaction"], "reused_tokens": 0, "tokens": 128}');
INSERT INTO "agentic_events" VALUES(22,'18ec41d9769533e3-fdd402a9','turn_start//1','{"type": "turn_start", "turn": 2}');
INSERT INTO "agentic_events" VALUES(23,'18ec41d9769533e3-fdd402a9','message_end//4','{"type": "message_end", "role": "assistant", "content": "I act."}');
INSERT INTO "agentic_events" VALUES(24,'18ec41d9769533e3-fdd402a9','tool_execution_start/call_75d0fae3237d3894a672a0b5ea73408d/0','{"type": "tool_execution_start", "call_id": "call_75d0fae3237d3894a672a0b5ea73408d", "name": "count", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(25,'18ec41d9769533e3-fdd402a9','tool_execution_start/call_b5161350b529c60f19b53cce97eb22f6/0','{"type": "tool_execution_start", "call_id": "call_b5161350b529c60f19b53cce97eb22f6", "name": "send", "arguments": "{}"}');
INSERT INTO "agentic_events" VALUES(26,'18ec41d9769533e3-fdd402a9','tool_execution_start/call_ba016531338269bc502188b37cf34c6e/0','{"type": "tool_execution_start", "call_id": "call_ba016531338269bc502188b37cf34c6e", "name": "store", "arguments": "{}"}');
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
INSERT INTO "agentic_workers" VALUES('worker','agentic',1,1.79588275665801119806e+09);
CREATE TABLE application_versions (
    version_id TEXT NOT NULL PRIMARY KEY,
    version_name TEXT NOT NULL UNIQUE,
    version_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    created_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
, "application_name" TEXT DEFAULT NULL);
INSERT INTO "application_versions" VALUES('55eadff0-a998-4709-9657-07a1396c7a40','agentic-1',1795882751000,1795882751000,'agentic');
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
INSERT INTO "operation_outputs" VALUES('18ec41d7be9b844c-fd287705',1,'open session','{"value":{"known":0,"point":[0,0],"tools":true},"arrived":[]}',NULL,NULL,1795882752880,1795882752903,'agentic_json','agentic',1795882752000);
INSERT INTO "operation_outputs" VALUES('18ec41d7be6d1aff-1ec04762',1,'open session','{"value":{"known":0,"point":[0,0],"tools":true},"arrived":[]}',NULL,NULL,1795882752903,1795882753250,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7beb80876-c6ac4cce',1,'open session','{"value":{"known":0,"point":[0,0],"tools":true},"arrived":[]}',NULL,NULL,1795882753257,1795882753258,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7be9b844c-fd287705',2,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:13.258393+00:00","seconds":0.33567450999908033,"message":{"v":1,"role":"assistant","content":"I pay.","tool_calls":[{"id":"","name":"pay","arguments":"{\"amount\": 5}"}]},"stop_reason":"tool","listing":{"tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]}},"arrived":[]}',NULL,NULL,1795882753253,1795882753259,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7be6d1aff-1ec04762',2,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:13.266488+00:00","seconds":0.003151508000883041,"error":{"kind":"ValueError","problem":"no such model"},"listing":{"tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]}},"arrived":[]}',NULL,NULL,1795882753264,1795882753266,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7beb80876-c6ac4cce',2,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:13.286374+00:00","seconds":0.018001641998125706,"message":{"v":1,"role":"assistant","content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},"stop_reason":"stop","listing":{"tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]}},"arrived":[]}',NULL,NULL,1795882753269,1795882753294,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7bb7b933d-efeece84',1,'open session','{"value":{"known":0,"point":[0,0],"tools":true},"arrived":[]}',NULL,NULL,1795882752922,1795882753256,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d7bb7b933d-efeece84',2,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:13.327575+00:00","seconds":0.009193109999614535,"message":{"v":1,"role":"assistant","content":"Hello.","usage":{"input":10,"output":2}},"stop_reason":"stop","listing":{"tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]}},"arrived":[]}',NULL,NULL,1795882753319,1795882753328,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',1,'open session','{"value":{"known":2,"point":[2,2],"tools":true},"arrived":[]}',NULL,NULL,1795882753763,1795882753765,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',2,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:13.780703+00:00","seconds":0.006091768998885527,"message":{"v":1,"role":"assistant","content":"I read.","reasoning":"The log first.","tool_calls":[{"id":"","name":"read"}]},"stop_reason":"tool","listing":{"tools":["read","pay","count","store","send"],"ask":["pay"],"never":["send"]}},"arrived":[]}',NULL,NULL,1795882753776,1795882753781,'agentic_json','agentic',1795882753000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',3,'tool read','{"value":{"v":1,"ended":"2026-11-28T16:19:14.866533+00:00","seconds":1.0919238169990422,"result":{"call_id":"call_58049c53dd10dfa931792b38a18d10b4","name":"read"},"output_ref":"out-6cb5ea9a2639705b"},"arrived":[[2,"look twice"]]}',NULL,NULL,1795882753786,1795882754866,'agentic_json','agentic',1795882754000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',4,'summarize','{"value":{"v":1,"ended":"2026-11-28T16:19:14.882885+00:00","seconds":1.1082732649992977,"summary":"5 messages.","notes":{}},"arrived":[]}',NULL,NULL,1795882754881,1795882754883,'agentic_json','agentic',1795882754000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',5,'decide','{"value":{"v":1,"ended":"2026-11-28T16:19:14.891277+00:00","seconds":1.1166646919991763,"message":{"v":1,"role":"assistant","content":"I act.","tool_calls":[{"id":"","name":"count"},{"id":"","name":"send"},{"id":"","name":"store"}]},"stop_reason":"tool"},"arrived":[]}',NULL,NULL,1795882754887,1795882754891,'agentic_json','agentic',1795882754000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',6,'tool count','{"value":{"v":1,"ended":"2026-11-28T16:19:14.904062+00:00","seconds":1.1294501140000648,"result":{"call_id":"call_75d0fae3237d3894a672a0b5ea73408d","name":"count","output":"count is done"}},"arrived":[]}',NULL,NULL,1795882754898,1795882754904,'agentic_json','agentic',1795882754000);
INSERT INTO "operation_outputs" VALUES('18ec41d9769533e3-fdd402a9',8,'intend send','{"value":{"v":1,"ended":"2026-11-28T16:19:14.905966+00:00","seconds":1.1313529629987897,"token":"97c10d5b44bc5f478135bd0550e04344"},"arrived":[]}',NULL,NULL,1795882754898,1795882754906,'agentic_json','agentic',1795882754000);
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
INSERT INTO "queues" VALUES('D6EC86D81CAFA99F94B8073AE6DB1AFC','agentic',NULL,100,NULL,NULL,1,1,0.1,1795882751000,1795882751694,'agentic',1,NULL,NULL,NULL);
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
INSERT INTO "workflow_input" VALUES('18ec41d7bb7b933d-efeece84','{"args":["done","hi","2026-11-28T16:19:06.233220+00:00"],"kwargs":{}}',1795882746000);
INSERT INTO "workflow_input" VALUES('18ec41d7be6d1aff-1ec04762','{"args":["broken","break","2026-11-28T16:19:06.282602+00:00"],"kwargs":{}}',1795882746000);
INSERT INTO "workflow_input" VALUES('18ec41d7be9b844c-fd287705','{"args":["asked","pay","2026-11-28T16:19:06.285636+00:00"],"kwargs":{}}',1795882746000);
INSERT INTO "workflow_input" VALUES('18ec41d7beb80876-c6ac4cce','{"args":["killed","remember","2026-11-28T16:19:06.287501+00:00"],"kwargs":{}}',1795882746000);
INSERT INTO "workflow_input" VALUES('18ec41d9769533e3-fdd402a9','{"args":["killed","work","2026-11-28T16:19:13.667196+00:00"],"kwargs":{}}',1795882753000);
INSERT INTO "workflow_input" VALUES('18ec41d9fe6be901-bf284332','{"args":["later","hi","2026-11-28T16:19:15.946193+00:00"],"kwargs":{}}',1795882755000);
CREATE TABLE workflow_output (
    workflow_uuid TEXT NOT NULL PRIMARY KEY,
    output TEXT,
    error TEXT,
    retention_timestamp INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000)
);
INSERT INTO "workflow_output" VALUES('18ec41d7be6d1aff-1ec04762','{"state":"failed","problem":"StepFailed: decide failed: ValueError: no such model"}',NULL,1795882753000);
INSERT INTO "workflow_output" VALUES('18ec41d7beb80876-c6ac4cce','{"state":"done","reply":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","exhausted":false,"limit":null,"stop_reason":"stop","usage":{"input":0,"output":0,"total":0,"cache_read":0,"cache_write":0,"reasoning":0}}',NULL,1795882753000);
INSERT INTO "workflow_output" VALUES('18ec41d7bb7b933d-efeece84','{"state":"done","reply":"Hello.","exhausted":false,"limit":null,"stop_reason":"stop","usage":{"input":10,"output":2,"total":12,"cache_read":0,"cache_write":0,"reasoning":0}}',NULL,1795882753000);
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
INSERT INTO "workflow_status" VALUES('18ec41d7bb7b933d-efeece84','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795882746000,1795882753000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795882752000,NULL,1,'done',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795882753000,'null',NULL,NULL,0,'agentic','c52bb435-69cb-4fbb-83c5-386803ef44e3');
INSERT INTO "workflow_status" VALUES('18ec41d7be6d1aff-1ec04762','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795882746000,1795882753000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795882752000,NULL,1,'broken',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795882753000,'null',NULL,NULL,0,'agentic','2556edec-2c5f-40d8-9dcd-80c547177cc0');
INSERT INTO "workflow_status" VALUES('18ec41d7be9b844c-fd287705','PENDING','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795882746000,1795882752000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795882752000,NULL,1,'asked',NULL,'b87f589c-bdfe-4685-ad35-82903081aab2',NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','6af399c6-a793-4802-b8a4-9c8821e2eeaf');
INSERT INTO "workflow_status" VALUES('18ec41d7beb80876-c6ac4cce','SUCCESS','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795882746000,1795882753000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795882752000,NULL,1,'killed',NULL,NULL,NULL,'agentic_json',NULL,0,0,1795882753000,'null',NULL,NULL,0,'agentic','8ba24192-3728-4606-992f-1dc46507d60f');
INSERT INTO "workflow_status" VALUES('18ec41d9769533e3-fdd402a9','PENDING','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,'worker',1795882753000,1795882753000,'agentic-1',NULL,NULL,NULL,1,'agentic',NULL,NULL,NULL,1795882753000,NULL,1,'killed',NULL,'d8bce0f8-f6f1-4c89-8a6e-356722344ed4',NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','fb67fbe0-60ec-4ef9-b872-dbf8eee36904');
INSERT INTO "workflow_status" VALUES('18ec41d9fe6be901-bf284332','ENQUEUED','agentic_run',NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795882755000,1795882755000,'agentic-1',NULL,NULL,NULL,0,'agentic',NULL,NULL,NULL,NULL,NULL,1,'later',NULL,NULL,NULL,'agentic_json',NULL,0,0,NULL,'null',NULL,NULL,0,'agentic','383c97f4-f12d-42db-bb25-e2d638985568');
CREATE INDEX ix_agentic_controls_run ON agentic_controls (run);
CREATE INDEX ix_agentic_keys_run ON agentic_keys (run);
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
