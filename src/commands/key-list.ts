import { parseArgs } from 'node:util';
import { formatUsd, platformScope } from '../kernel';
import {
  KeyActivity,
  KeyRegister,
  KeysService,
  type ManagedKey,
  type DisplayStatus,
  displayStatuses,
} from '../keys';
import { Database, everyRow, type PageRequest } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { parseKeyId } from './key-options';
import { withServices } from './with-services';

const PAGE_SIZE = 200;

export const keyList: CliCommand = {
  usage: 'key list [--status active|disabled|revoked|expired] [--name PART]',
  summary: 'Lists the keys, the newest first: id, name, status, budget and what is spent of it.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: { status: { type: 'string' }, name: { type: 'string' } },
    });
    const status = statusOf(values.status);
    return withServices([KeyRegister], context, async (register) => {
      const read = (page: PageRequest) =>
        register.list(platformScope, { ...page, status, name: values.name });
      for await (const key of everyRow(Infinity, PAGE_SIZE, read)) context.write(`${keyLine(key)}\n`);
      return 0;
    });
  },
};

export const keyRevoke: CliCommand = {
  usage: 'key revoke ID',
  summary: 'Revokes a key for good. Every node refuses it within a second.',
  run(argv, context) {
    const { positionals } = parseArgs({ args: argv, allowPositionals: true });
    const publicId = parseKeyId(positionals);
    const services = [Database, KeysService, KeyActivity] as const;
    return withServices(services, context, async (database, keys, activity) => {
      await database.transaction((tx) =>
        activity.recordChange(tx, publicId, () => keys.revoke(platformScope, tx, publicId), commandActor),
      );
      context.write(`${publicId} is revoked.\n`);
      return 0;
    });
  },
};

function statusOf(text: string | undefined): DisplayStatus | undefined {
  const status = displayStatuses.find((one) => one === text);
  if (text !== undefined && status === undefined)
    throw new UsageError(`--status takes one of ${displayStatuses.join(', ')}.`);
  return status;
}

function keyLine({
  publicId,
  name,
  status,
  budget,
  expiresAt,
  allowedModels,
  allowedRegions,
}: ManagedKey): string {
  const parts = [publicId, status.padEnd(8), JSON.stringify(name)];
  if (budget !== null)
    parts.push(`$${formatUsd(budget.spent)} of $${formatUsd(budget.limit)} ${budget.period}`);
  if (allowedModels !== null) parts.push(`models ${allowedModels.join(',')}`);
  if (allowedRegions !== null) parts.push(`regions ${allowedRegions.join(',')}`);
  if (expiresAt !== null) parts.push(`until ${expiresAt.toISOString()}`);
  return parts.join('  ');
}
