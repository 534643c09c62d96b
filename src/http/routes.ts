/**
 * The table of all routes behind the lock door.
 */
import { logRoutes } from './access_log.ts';
import { eventRoutes } from './events.ts';
import { governorRoutes } from './governor.ts';
import { healthRoutes } from './health.ts';
import { keyRoutes } from './keys.ts';
import { metricRoutes } from './metrics.ts';
import { documentRoutes } from './openapi.ts';
import { poolRoutes } from './pools.ts';
import type { Route } from './route.ts';
import { statusRoutes } from './status.ts';

export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...poolRoutes,
  ...keyRoutes,
  ...statusRoutes,
  ...logRoutes,
  ...governorRoutes,
  ...metricRoutes,
  ...eventRoutes,
  ...documentRoutes,
];
