import 'reflect-metadata';
import { SinkSettings } from './sink-settings';
import { duration, oneOf, processCount, publicOrigin } from './readers';
import { Setting } from './setting.decorator';

export abstract class ProcessSettings extends SinkSettings {
  @Setting({
    name: 'SERVE',
    group: 'Server',
    describe:
      'What this node serves: gateway has /v1 alone and runs no jobs; portal has pages, administration, webhooks of the processor and jobs (docs/processes.md).',
    as: oneOf('all', 'gateway', 'portal'),
    default: 'all',
  })
  readonly serve: 'all' | 'gateway' | 'portal';

  @Setting({
    name: 'GATEWAY_URL',
    group: 'Server',
    describe: 'The address at which callers reach /v1, where it is another than that of the portal.',
    as: publicOrigin,
    unset: 'BASE_URL',
  })
  readonly gatewayUrl?: string;

  @Setting({
    name: 'PROCESSES',
    group: 'Server',
    describe:
      'How many processes of this node share its port; auto is one for each processor. More than one needs REDIS_URL (docs/processes.md).',
    as: processCount,
    default: '1',
  })
  readonly processes: number;

  @Setting({
    name: 'WATCHDOG_TIMEOUT',
    group: 'Server',
    describe:
      'How long the event loop of a process may be blocked, at least 1s, before the process is killed and its stack logged; 0s for never. Without effect on a single process without extensions (docs/processes.md).',
    as: duration('0s', '10m'),
    default: '10s',
  })
  readonly watchdogMs: number;

  @Setting({
    name: 'REDIS_ANSWER_TIMEOUT',
    group: 'Queue',
    describe:
      'How long a request waits for Redis to count its key; later, the node keeps to its share of the rate. For tokens and parallel calls it waits five times as long.',
    as: duration('5ms', '10s'),
    default: '50ms',
  })
  readonly redisAnswerMs: number;
}

export const servesGateway = ({ serve }: Pick<ProcessSettings, 'serve'>): boolean => serve !== 'portal';

export const servesPortal = ({ serve }: Pick<ProcessSettings, 'serve'>): boolean => serve !== 'gateway';
