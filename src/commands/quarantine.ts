import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import { PostgresMoneyStore } from '../billing';
import { formatUsd } from '../kernel';
import { Database } from '../platform';
import {
  startQuarantine,
  type QuarantineDetails,
  groupChoices,
  type Decisions,
  type DecisionGroup,
  decisionGroups,
  type ProcessorFinding,
  QuarantineStore,
} from '../quarantine';
import { commandActor, type CliCommand, type CliContext, UsageError } from './command';
import { withServices } from './with-services';

export const quarantineBegin: CliCommand = {
  usage: 'quarantine begin --moment TIME',
  summary:
    'Says that the database was restored to TIME (ISO 8601) by other means than "restore". The service starts closed, ' +
    'until an owner has decided what becomes of what lies between. Every node has to be stopped.',
  run(argv, context) {
    const { values } = parseArgs({ args: argv, options: { moment: { type: 'string' } } });
    const moment = parseMoment(values.moment);
    return withServices([Database, ActivityLog], context, async (database, activity) => {
      const nodes = await new PostgresMoneyStore(database).liveNodes();
      if (nodes.length > 0) {
        context.writeStderr(
          `${nodes.length} node(s) of the service run, or did so half a minute ago. Stop them first.\n`,
        );
        return 1;
      }
      const mark = { backup: null, moment, restoredAt: new Date() };
      if (!(await startQuarantine(database, activity, mark, commandActor))) {
        context.writeStderr('A quarantine is open already. "quarantine show" shows it.\n');
        return 1;
      }
      context.write(`Quarantined. Start the service, then sign in as an owner, or run "quarantine show".\n`);
      return 0;
    });
  },
};

function parseMoment(text: string | undefined): Date {
  if (text === undefined) throw new UsageError('Say --moment.');
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime()) || !/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/.test(text))
    throw new UsageError('A moment is a time with its zone, such as 2030-01-31T12:00:00Z.');
  if (moment.getTime() > Date.now()) throw new UsageError('The moment lies in the future.');
  return moment;
}

export const quarantineShow: CliCommand = {
  usage: 'quarantine show',
  summary: 'Shows what lies between the moment that the installation was restored to and the present.',
  run(argv, context) {
    parseArgs({ args: argv, options: {} });
    return withServices([QuarantineStore], context, async (store) => {
      const between = await latestOf(store);
      if (between === null) context.write('This installation was never restored from a backup.\n');
      else context.write(`${statusLines(between).join('\n')}\n`);
      return 0;
    });
  },
};

export const quarantineRelease: CliCommand = {
  usage: `quarantine release ${decisionGroups.map((group) => `[--${group} ${groupChoices[group].join('|')}]`).join(' ')} [--yes]`,
  summary:
    'Decides what becomes of each group that "quarantine show" names. The running service carries it out and serves ' +
    'again, or the next one that starts.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: {
        yes: { type: 'boolean', default: false },
        ...Object.fromEntries(decisionGroups.map((group) => [group, { type: 'string' } as const])),
      },
    });
    const decisions = parseDecisions(values);
    return withServices([QuarantineStore], context, async (store) => {
      const between = await latestOf(store);
      if (between === null || between.row.releasedAt !== null) {
        context.writeStderr('No quarantine is open.\n');
        return 1;
      }
      return decide(store, between, decisions, values.yes === true, context);
    });
  },
};

async function decide(
  store: QuarantineStore,
  between: QuarantineDetails,
  decisions: Decisions,
  isConfirmed: boolean,
  context: CliContext,
): Promise<number> {
  const missing = between.needed.filter((group) => decisions[group] === undefined);
  if (missing.length > 0) {
    const options = missing.map((group) => `  --${group} ${groupChoices[group].join('|')}\n`);
    context.writeStderr(`Decide about these as well:\n${options.join('')}`);
    return 1;
  }
  if (!isConfirmed && !(await context.confirm('The service serves again then. Release it?'))) {
    context.writeStderr('Nothing was changed. Confirm at a terminal, or with --yes.\n');
    return 1;
  }
  await store.recordDecisions(between, decisions, commandActor);
  context.write('Decided. The running service carries it out, or the next one that starts.\n');
  return 0;
}

function parseDecisions(values: Readonly<Record<string, unknown>>): Decisions {
  const decided = decisionGroups.filter((group) => values[group] !== undefined);
  for (const group of decided) {
    const allowed: readonly unknown[] = groupChoices[group];
    if (!allowed.includes(values[group]))
      throw new UsageError(`--${group} takes ${groupChoices[group].join(' or ')}.`);
  }
  return Object.fromEntries(decided.map((group: DecisionGroup) => [group, values[group]]));
}

async function latestOf(store: QuarantineStore): Promise<QuarantineDetails | null> {
  const row = await store.latest();
  return row === undefined ? null : store.details(row);
}

function statusLines(between: QuarantineDetails): string[] {
  const { row, keysAlive, journals, charges, nodes, taps, needed } = between;
  const { ended, findings } = row;
  return [
    `Restored to ${row.moment.toISOString()}${row.backup === null ? '' : ` from ${row.backup}`}`,
    `  restored at ${row.restoredAt.toISOString()}, quarantined since ${row.beganAt.toISOString()}`,
    ...(row.releasedAt === null ? [] : [`  released at ${row.releasedAt.toISOString()}`]),
    ...(row.trouble === null ? [] : [`  cannot be released yet: ${row.trouble}`]),
    `Ended: ${ended.sessions} sessions, ${ended.links} links, ${ended.invitations} invitations`,
    `Keys that work: ${keysAlive}`,
    `Journals set aside: ${journals.length}`,
    ...charges.map(
      ({ publicId, name, requests, costNano, requestsAfter, costNanoAfter }) =>
        `  ${publicId ?? 'no key'} ${JSON.stringify(name ?? '')}: ${requests} requests, $${formatUsd(BigInt(costNano))}; ` +
        `after the moment ${requestsAfter}, $${formatUsd(BigInt(costNanoAfter))}`,
    ),
    ...(nodes.length === 0 ? [] : ['Dead nodes that hold money, without a journal here:']),
    ...nodes.map(({ node, journal, held }) => {
      const sum = held.reduce((total, { amount }) => total + amount, 0n);
      return `  ${node}: $${formatUsd(sum)}, journal ${journal}`;
    }),
    ...(findings === null ? ['Jobs and payments: start the service, which looks at them.'] : []),
    ...Object.entries(findings?.jobs ?? {}).map(([queue, count]) => `Jobs of ${queue}: ${count}`),
    ...(findings === null ? [] : processorLines(findings.processor)),
    ...taps.map(({ name, backlog }) => `Tap ${name}: ${backlog} waiting`),
    ...(row.releasedAt !== null
      ? []
      : [needed.length === 0 ? 'Nothing is left to decide.' : `To decide: ${needed.join(', ')}`]),
  ];
}

function processorLines(finding: ProcessorFinding): string[] {
  if (finding.state === 'off') return ['Payment processor: none'];
  if (finding.state === 'unreached') return [`Payment processor: not reached (${finding.error})`];
  const lines = finding.differences.map(
    ({ intentId, problem, oursCents, theirsCents }) =>
      `  ${intentId}: ${problem}, here ${oursCents} cents, there ${theirsCents}`,
  );
  return [`Payment processor: ${finding.payments} payments since, ${lines.length} differ`, ...lines];
}
