import type {
  Contributions,
  CredentialKind,
  Gate,
  IdentityProvider,
  Job,
  Policy,
  SupplierStyle,
  Tap,
} from '#extension';
import { cronProblem } from '../platform';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const HOOKS = ['request', 'candidates', 'answer', 'settled'] as const;

/** The first thing that is wrong with the parts of an extension; null where nothing is. */
export function problemOf(adds: Contributions): string | null {
  if (typeof adds !== 'object' || adds === null) return 'setup() did not return an object';
  return (
    unknownPart(adds) ??
    firstOf('suppliers', adds.suppliers, styleProblem) ??
    firstOf('gates', adds.gates, gateProblem) ??
    firstOf('taps', adds.taps, tapProblem) ??
    firstOf('identityProviders', adds.identityProviders, directoryProblem) ??
    firstOf('policies', adds.policies, policyProblem) ??
    firstOf('priceComponents', adds.priceComponents, (component) =>
      typeof component.fee === 'function' ? null : 'needs fee()',
    ) ??
    firstOf('jobs', adds.jobs, jobProblem) ??
    firstOf('commands', adds.commands, (command) =>
      typeof command.run === 'function' && typeof command.summary === 'string'
        ? null
        : 'needs run() and a summary',
    )
  );
}

const parts: ReadonlySet<string> = new Set<keyof Contributions>([
  'module',
  'suppliers',
  'gates',
  'taps',
  'identityProviders',
  'policies',
  'priceComponents',
  'jobs',
  'commands',
]);

function unknownPart(adds: Contributions): string | null {
  const unknown = Object.keys(adds).find((name) => !parts.has(name));
  if (unknown !== undefined) return `setup() returned "${unknown}", which this contract does not know`;
  return adds.module === undefined || typeof adds.module === 'function' ? null : 'module is no class';
}

/** Each has a name of its own and nothing wrong. */
function firstOf<Part extends { readonly name: string }>(
  kind: string,
  found: readonly Part[] | undefined,
  problemOfPart: (part: Part) => string | null,
): string | null {
  if (found === undefined) return null;
  if (!Array.isArray(found)) return `${kind} is no list`;
  const names = new Set<string>();
  for (const part of found as readonly Part[]) {
    if (typeof part !== 'object' || part === null) return `an entry of ${kind} is no object`;
    const { name } = part;
    if (typeof name !== 'string' || !NAME.test(name))
      return `an entry of ${kind} has no name of small letters, digits and hyphens`;
    if (names.has(name)) return `two entries of ${kind} are named ${name}`;
    names.add(name);
    const problem = problemOfPart(part);
    if (problem !== null) return `${name} of ${kind} ${problem}`;
  }
  return null;
}

const CREDENTIALS: readonly string[] = ['bearer', 'header', 'sigv4', 'oauth-pool'] satisfies CredentialKind[];
const STYLE_METHODS = ['needsCredential', 'operations', 'fields', 'target', 'prepare', 'readError'] as const;
const STYLE_MORE = ['pictures', 'modelList', 'unwrap', 'unframer'] as const;

function styleProblem(style: SupplierStyle): string | null {
  if (!CREDENTIALS.includes(style.credential)) return `needs a credential: ${CREDENTIALS.join(', ')}`;
  const missing = STYLE_METHODS.find((name) => typeof style[name] !== 'function');
  if (missing !== undefined) return `needs ${missing}()`;
  const other = STYLE_MORE.find((name) => style[name] !== undefined && typeof style[name] !== 'function');
  return other === undefined ? null : `has a ${other} that is no function`;
}

function gateProblem(gate: Gate): string | null {
  const { timeoutMs, onError, answer } = gate;
  if (!isWithin(timeoutMs, 1, 10_000)) return 'needs a timeoutMs from 1 to 10,000';
  if (onError !== 'open' && onError !== 'closed') return "needs onError: 'open' or 'closed'";
  if (HOOKS.every((hook) => gate[hook] === undefined)) return `has none of ${HOOKS.join(', ')}`;
  if (answer === undefined) return null;
  if (typeof answer.find !== 'function') return 'has an answer without find()';
  return isWithin(answer.longest, 1, 4_096) ? null : 'has an answer whose longest is not from 1 to 4,096';
}

function tapProblem(tap: Tap): string | null {
  const { batchSize = 100, timeoutMs = 10_000 } = tap;
  if (typeof tap.deliver !== 'function') return 'needs deliver()';
  if (!isWithin(batchSize, 1, 1_000)) return 'has a batchSize that is not from 1 to 1,000';
  return isWithin(timeoutMs, 100, 60_000) ? null : 'has a timeoutMs that is not from 100 to 60,000';
}

const LONGEST_LABEL = 60;

function directoryProblem(directory: IdentityProvider): string | null {
  const { label } = directory;
  if (typeof directory.authenticate !== 'function') return 'needs authenticate()';
  const isLabel = typeof label === 'string' && label.trim() !== '' && label.length <= LONGEST_LABEL;
  return isLabel ? null : `needs a label of at most ${LONGEST_LABEL} characters`;
}

const policyProblem = (policy: Policy): string | null =>
  typeof policy.forbidsModel === 'function' || typeof policy.forbidsVisit === 'function'
    ? null
    : 'has none of forbidsModel, forbidsVisit';

function jobProblem(job: Job): string | null {
  const { cron, deadlineMs = 60_000 } = job;
  if (typeof job.run !== 'function') return 'needs run()';
  if (typeof cron !== 'string' || !/^\S+( \S+){4,5}$/.test(cron)) return 'needs a cron of five or six fields';
  const problem = cronProblem(cron);
  if (problem !== null) return `has the cron "${cron}", which cannot be read: ${problem}`;
  return isWithin(deadlineMs, 1_000, 3_600_000)
    ? null
    : 'has a deadlineMs that is not from 1,000 to 3,600,000';
}

const isWithin = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
