CREATE TABLE `governor` (
	`pool` text PRIMARY KEY NOT NULL,
	`saved` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `governor_change` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`pool` text NOT NULL,
	`at` integer NOT NULL,
	`what` text NOT NULL,
	`from` real,
	`to` real,
	`why` text NOT NULL,
	`evidence` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `governor_change_pool` ON `governor_change` (`pool`,`seq`);