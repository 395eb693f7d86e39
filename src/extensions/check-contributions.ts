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

/** Returns the first problem in an extension's contributions; null if they are valid. */
export function findContributionProblem(contributions: Contributions): string | null {
  if (typeof contributions !== 'object' || contributions === null) return 'setup() did not return an object';
  return (
    findUnknownContribution(contributions) ??
    findFirstProblem('suppliers', contributions.suppliers, styleProblem) ??
    findFirstProblem('gates', contributions.gates, gateProblem) ??
    findFirstProblem('taps', contributions.taps, tapProblem) ??
    findFirstProblem('identityProviders', contributions.identityProviders, directoryProblem) ??
    findFirstProblem('policies', contributions.policies, policyProblem) ??
    findFirstProblem('priceComponents', contributions.priceComponents, (component) =>
      typeof component.fee === 'function' ? null : 'needs fee()',
    ) ??
    findFirstProblem('jobs', contributions.jobs, jobProblem) ??
    findFirstProblem('commands', contributions.commands, (command) =>
      typeof command.run === 'function' && typeof command.summary === 'string'
        ? null
        : 'needs run() and a summary',
    )
  );
}

const knownContributions: ReadonlySet<string> = new Set<keyof Contributions>([
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

function findUnknownContribution(contributions: Contributions): string | null {
  const unknown = Object.keys(contributions).find((name) => !knownContributions.has(name));
  if (unknown !== undefined) return `setup() returned "${unknown}", which this contract does not know`;
  return contributions.module === undefined || typeof contributions.module === 'function'
    ? null
    : 'module is no class';
}

/** Checks that each entry has a unique name and passes its own check. */
function findFirstProblem<Part extends { readonly name: string }>(
  kind: string,
  entries: readonly Part[] | undefined,
  problemOfPart: (part: Part) => string | null,
): string | null {
  if (entries === undefined) return null;
  if (!Array.isArray(entries)) return `${kind} is no list`;
  const names = new Set<string>();
  for (const part of entries as readonly Part[]) {
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
const OPTIONAL_STYLE_METHODS = ['pictures', 'modelList', 'unwrap', 'unframer'] as const;

function styleProblem(style: SupplierStyle): string | null {
  if (!CREDENTIALS.includes(style.credential)) return `needs a credential: ${CREDENTIALS.join(', ')}`;
  const missing = STYLE_METHODS.find((name) => typeof style[name] !== 'function');
  if (missing !== undefined) return `needs ${missing}()`;
  const invalidMember = OPTIONAL_STYLE_METHODS.find(
    (name) => style[name] !== undefined && typeof style[name] !== 'function',
  );
  return invalidMember === undefined ? null : `has a ${invalidMember} that is no function`;
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

const MAX_LABEL_LENGTH = 60;

function directoryProblem(directory: IdentityProvider): string | null {
  const { label } = directory;
  if (typeof directory.authenticate !== 'function') return 'needs authenticate()';
  const isLabel = typeof label === 'string' && label.trim() !== '' && label.length <= MAX_LABEL_LENGTH;
  return isLabel ? null : `needs a label of at most ${MAX_LABEL_LENGTH} characters`;
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

const isWithin = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
