-- Log entries stand in the journal and in the log's segments as runs from here on, which an older
-- program cannot read: this keeps it from the database. Nothing has to be written anew.
UPDATE `claim` SET `id` = `id`;
