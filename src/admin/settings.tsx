/**
 * A pool's settings as forms with bounds and units. Where its calls go is a form of its own.
 */
import type { Field } from './fields.tsx';
import { Fields, ms } from './fields.tsx';
import { Action } from './layout.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { AsJson, JsonPage } from './as_json.tsx';
import { UpstreamForm } from './upstream.tsx';

const SECTIONS: Readonly<Record<string, readonly Field[]>> = {
  Concurrency: [
    {
      name: 'concurrency.mode:text',
      label: 'Mode',
      options: ['fixed', 'adaptive'],
      about: 'fixed: the limit is the limit. adaptive: it moves between min and max.',
    },
    {
      name: 'concurrency.limit:int',
      label: 'Limit (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Raising it serves waiters at once; lowering it revokes nothing, held slots drain.',
    },
    {
      name: 'concurrency.min:int',
      label: 'Min (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Adaptive: never below.',
    },
    {
      name: 'concurrency.max:int',
      label: 'Max (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Adaptive: never above.',
    },
  ],
  Queue: [
    {
      name: 'queue.maxDepth:int',
      label: 'Depth (waiters)',
      min: 0,
      max: 100_000,
      about: 'Who comes when it is full is refused at once; 0: nobody waits.',
    },
    ms('Longest wait', 'queue.timeoutMs', [0, 3_600_000], 'Longer wishes are cut to it.'),
  ],
  Lease: [
    ms('Term', 'lease.termMs', [1_000, 3_600_000], 'Without news for so long a slot comes back.'),
    ms('Renew every', 'lease.renewIntervalMs', [1, 3_600_000], 'Told to holders; below the term.'),
    ms('Request timeout', 'lease.requestTimeoutMs', [1_000, 86_400_000], 'No lease lasts longer.'),
  ],
  Rate: [
    {
      name: 'rate.rpm:int?',
      label: 'Starts a minute',
      min: 1,
      max: 10_000_000,
      about: 'In any rolling 60 s; empty: no rate of yours.',
    },
    {
      name: 'rate.tpm:int?',
      label: 'LLM tokens a minute',
      min: 1,
      max: 10_000_000_000,
      about: 'Empty: none.',
    },
    {
      name: 'rate.burst:int?',
      label: 'Starts at once',
      min: 1,
      max: 10_000_000,
      about: 'Of the starts a minute; empty: all of them.',
    },
    {
      name: 'rate.kind:text',
      label: 'What a 429 means',
      options: ['auto', 'concurrency', 'rate'],
      about: 'auto: it is found out.',
    },
    {
      name: 'rate.learn:bool',
      label: 'Learn rates',
      options: ['true', 'false'],
      about: 'Whether rates are learned from answers.',
    },
    {
      name: 'rate.hints.resetUnit:text?',
      label: 'Resets are told in',
      options: [['', 'find out'], ['s', 'seconds'], ['ms', 'milliseconds']],
      about: 'The unit of a bare number in a header that tells of a reset.',
    },
    ms('Longest pause', 'rate.maxPauseMs', [0, 86_400_000], 'That an upstream can cause.'),
  ],
  'Access log': [
    {
      name: 'log.retentionDays:int',
      label: 'Keep (days)',
      min: 1,
      max: 3_650,
      about: 'Older rows are deleted.',
    },
    {
      name: 'log.rowsMax:int',
      label: 'Keep (rows)',
      min: 0,
      max: 100_000_000,
      about: 'More rows are deleted, the oldest first.',
    },
  ],
};

export function SettingsPage(
  { frame, spec, isJson }: { frame: PoolPage; spec: Json; isJson: boolean },
) {
  if (isJson) return <JsonPage frame={frame} spec={spec} name='upstream' />;
  const act = `/admin/pools/${frame.view.name}/act`;
  return (
    <PoolLayout {...frame}>
      <p>A change applies at once; nothing restarts, and nobody who holds a slot loses it.</p>
      {Object.entries(SECTIONS).map(([title, fields]) => (
        <section aria-label={title} class='card'>
          <h2>{title}</h2>
          <Action to={`${act}/change`} label={`Save ${title.toLowerCase()}`}>
            <Fields fields={fields} spec={spec} />
          </Action>
        </section>
      ))}
      <UpstreamForm act={act} spec={spec} />
      <AsJson tab='settings' pool={frame.view.name} what='the upstream' />
    </PoolLayout>
  );
}
