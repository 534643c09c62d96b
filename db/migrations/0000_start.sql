CREATE TABLE `claim` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`origin` text NOT NULL,
	`owner` text,
	`beat` integer NOT NULL,
	`fence` integer NOT NULL,
	`attempt` integer NOT NULL,
	`logged` integer NOT NULL,
	`folds` integer NOT NULL,
	`writes` integer NOT NULL,
	`base` integer NOT NULL,
	CONSTRAINT "claim_one_row" CHECK("claim"."id" = 1),
	CONSTRAINT "claim_epoch" CHECK("claim"."epoch" >= 0)
);
--> statement-breakpoint
CREATE TABLE `journal` (
	`seq` integer PRIMARY KEY NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `key` (
	`pool` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	PRIMARY KEY(`pool`, `id`)
);
--> statement-breakpoint
CREATE INDEX `key_id` ON `key` (`id`);--> statement-breakpoint
CREATE TABLE `lease` (
	`id` integer PRIMARY KEY NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `log_segment` (
	`pool` text NOT NULL,
	`last` integer NOT NULL,
	`first` integer NOT NULL,
	`count` integer NOT NULL,
	`at_first` integer NOT NULL,
	`at_last` integer NOT NULL,
	`outcomes` text NOT NULL,
	`entries` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_segment_newest` ON `log_segment` (`pool`,`last`,`count`,`at_last`);--> statement-breakpoint
CREATE TABLE `pool` (
	`name` text PRIMARY KEY NOT NULL,
	`settings` text NOT NULL,
	`created_at` integer NOT NULL,
	`pause` text,
	`is_managed` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `value` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
