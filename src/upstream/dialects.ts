/**
 * The table of all dialects. Where two families tell the same, the earlier one is believed; where
 * two rows claim one name, the earlier one has it. Adding a dialect is adding a row with a sample
 * to one of the lists; nothing else needs to know of it.
 */
import type { Dialect } from './dialect.ts';
import { MARKETS } from './dialects/markets.ts';
import { MODELS } from './dialects/models.ts';
import { PLATFORMS } from './dialects/platforms.ts';
import { SERVICES } from './dialects/services.ts';
import { STANDARDS } from './dialects/standards.ts';

export const DIALECTS: readonly Dialect[] = [
  ...STANDARDS,
  ...MODELS,
  ...PLATFORMS,
  ...SERVICES,
  ...MARKETS,
];
