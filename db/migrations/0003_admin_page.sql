CREATE TABLE `history` (
	`span` text NOT NULL,
	`cell` integer NOT NULL,
	`at` integer NOT NULL,
	`points` text NOT NULL,
	PRIMARY KEY(`span`, `cell`)
);
--> statement-breakpoint
CREATE TABLE `session` (
	`hash` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer NOT NULL
);
