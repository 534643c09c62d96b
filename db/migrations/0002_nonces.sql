CREATE TABLE `nonce` (
	`pool` text NOT NULL,
	`nonce` text NOT NULL,
	`until` integer NOT NULL,
	PRIMARY KEY(`pool`, `nonce`)
);
--> statement-breakpoint
CREATE INDEX `nonce_until` ON `nonce` (`until`);