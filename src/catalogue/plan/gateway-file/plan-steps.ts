import type { Tx } from '../../../platform';
import { didYouMean } from '../nearest';
import type { CredentialKeeper } from './credential-keeper';
import { type Current, readCurrent } from '../current';
import type { Desired, DesiredCredential } from './desired';
import type { FileFault, Place } from './file-fault';
import { planAccess } from './plan-access';
import { planGone } from './plan-gone';
import { type KeyPlanner, planKeys } from './plan-keys';
import { planAliases, planLinks, planModels } from './plan-models';
import { planPrices } from './plan-prices';
import { planProviders } from './plan-providers';
import { nameOf, type Step, type Steps } from '../step';

interface PlanContext {
  readonly keeper: CredentialKeeper;
  readonly source: string;
  readonly faults: FileFault[];
  /** Nothing is kept by this file from then on. */
  readonly once: boolean;
  readonly keys: KeyPlanner | undefined;
}

/** The steps make the catalogue as the file says, in an order in which they can be done. */
export async function stepsFor(
  tx: Tx,
  desired: Desired,
  { keeper, source, faults, once, keys: planner }: PlanContext,
): Promise<Steps> {
  const current = await readCurrent(tx);
  faults.push(...strayNames(desired, current));
  const steps = [
    ...(await planProviders(tx, desired, current, { keeper, once })),
    ...planModels(desired, current, once),
    ...planAliases(desired, current),
    ...planLinks('redirect', desired, current),
    ...planLinks('overflow', desired, current),
    ...planPrices(desired, current, source),
    ...planAccess(desired, current),
  ];
  const keys = await planKeys(tx, desired, current, { planner, faults });
  const kept = once ? steps.filter((step) => isKeptByFile(step, current)) : [];
  return {
    steps: [...steps.filter((step) => !kept.includes(step)), ...keys.steps],
    gone: [...planGone(desired, current, keeper), ...keys.gone],
    warnings: [
      ...withoutSecret(desired, current),
      ...unpriced(desired, current),
      ...keys.warnings,
      ...new Set(kept.map((step) => `${nameOf(step)} is kept by a gateway file: change it there`)),
    ],
  };
}

function isKeptByFile({ kind, name }: Step, { providers, models, aliases }: Current): boolean {
  if (kind === 'provider') return providers.get(name)?.managed === true;
  if (kind === 'model') return models.get(name)?.managed === true;
  return kind === 'alias' && models.get(aliases.get(name) ?? '')?.managed === true;
}

/** Every name that stands for nothing, neither in the file nor in the database. */
function strayNames(desired: Desired, current: Current): FileFault[] {
  const providers = new Set([...current.providers.keys(), ...desired.providers.map(({ name }) => name)]);
  const models = new Set([...current.models.keys(), ...desired.models.map(({ name }) => name)]);
  const callable = new Set([
    ...models,
    ...current.aliases.keys(),
    ...desired.aliases.map(({ name }) => name),
  ]);
  const faults: FileFault[] = [];
  const expect = (known: { has(name: string): boolean; keys(): Iterable<string> }, kind: string) =>
    function (name: string, { path, line }: Place): void {
      if (name === '' || known.has(name)) return;
      faults.push({ path, line, problem: `there is no ${kind} "${name}"${didYouMean(name, known.keys())}` });
    };
  const model = expect(models, 'model');
  const provider = expect(providers, 'provider');
  for (const { lanes, redirect, overflow } of desired.models) {
    for (const lane of lanes) provider(lane.provider, lane.at);
    for (const link of [redirect, overflow])
      if (link !== null) expect(callable, 'model or alias')(link.target, link.at);
  }
  for (const alias of desired.aliases) model(alias.model, alias.at);
  for (const organisation of desired.organisations) {
    expect(current.organisations, 'organisation')(organisation.slug, organisation.at);
    for (const access of organisation.access) model(access.model, access.at);
    const known = current.organisations.get(organisation.slug);
    for (const department of organisation.departments) {
      if (known !== undefined) expect(known.departments, 'department')(department.name, department.at);
      for (const access of department.access) model(access.model, access.at);
    }
  }
  return faults;
}

/** It says who we are to a supplier's machine, and pays for nothing. */
const isCertificate = ({ secret }: DesiredCredential): boolean => secret.kind === 'client-certificate';

function withoutSecret(desired: Desired, current: Current): string[] {
  return desired.providers.flatMap(({ name, needsSecret, credentials }) => {
    const isKept = Object.keys(current.providers.get(name)?.credentials ?? {}).length > 0;
    return needsSecret && credentials.every(isCertificate) && !isKept
      ? [`provider ${name} has no secret: its lanes are not used until it has one`]
      : [];
  });
}

function unpriced(desired: Desired, current: Current): string[] {
  return desired.models.flatMap(({ name, lanes, price, redirect }) => {
    const known = current.models.get(name);
    const isPriced = price !== null || (known?.price ?? null) !== null;
    const open = lanes.filter((lane) => lane.enabled && lane.price === null);
    if (redirect !== null || isPriced || open.length === 0) return [];
    return [`model ${name} has no price: lanes without one are not used`];
  });
}
