import type { Tx } from '../../../platform';
import { didYouMean } from '../nearest';
import type { CredentialKeeper } from './credential-keeper';
import { type CurrentCatalogue, readCurrent } from '../current.query';
import type { DesiredCatalogue, DesiredCredential } from './desired';
import type { FileFault, FilePosition } from './file-fault';
import { planAccess } from './plan-access';
import { planRemovals } from './plan-removals';
import { type KeyPlanner, planKeys } from './plan-keys';
import { planAliases, planLinks, planModels } from './plan-models';
import { planPrices } from './plan-prices';
import { planProviders } from './plan-providers';
import { stepLabel, type Step, type Steps } from '../step';

interface PlanContext {
  readonly keeper: CredentialKeeper;
  readonly source: string;
  readonly faults: FileFault[];
  readonly once: boolean;
  readonly keys: KeyPlanner | undefined;
}

export async function planSteps(
  tx: Tx,
  desired: DesiredCatalogue,
  { keeper, source, faults, once, keys: planner }: PlanContext,
): Promise<Steps> {
  const current = await readCurrent(tx);
  faults.push(...findUnknownNames(desired, current));
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
  const managedSteps = once ? steps.filter((step) => isKeptByFile(step, current)) : [];
  return {
    steps: [...steps.filter((step) => !managedSteps.includes(step)), ...keys.steps],
    gone: [...planRemovals(desired, current, keeper), ...keys.gone],
    warnings: [
      ...warnMissingSecrets(desired, current),
      ...warnUnpricedModels(desired, current),
      ...keys.warnings,
      ...new Set(managedSteps.map((step) => `${stepLabel(step)} is kept by a gateway file: change it there`)),
    ],
  };
}

function isKeptByFile({ kind, name }: Step, { providers, models, aliases }: CurrentCatalogue): boolean {
  if (kind === 'provider') return providers.get(name)?.managed === true;
  if (kind === 'model') return models.get(name)?.managed === true;
  return kind === 'alias' && models.get(aliases.get(name) ?? '')?.managed === true;
}

function findUnknownNames(desired: DesiredCatalogue, current: CurrentCatalogue): FileFault[] {
  const providers = new Set([...current.providers.keys(), ...desired.providers.map(({ name }) => name)]);
  const models = new Set([...current.models.keys(), ...desired.models.map(({ name }) => name)]);
  const callable = new Set([
    ...models,
    ...current.aliases.keys(),
    ...desired.aliases.map(({ name }) => name),
  ]);
  const faults: FileFault[] = [];
  const expectName = (candidates: { has(name: string): boolean; keys(): Iterable<string> }, kind: string) =>
    function (name: string, { path, line }: FilePosition): void {
      if (name === '' || candidates.has(name)) return;
      faults.push({
        path,
        line,
        problem: `there is no ${kind} "${name}"${didYouMean(name, candidates.keys())}`,
      });
    };
  const model = expectName(models, 'model');
  const provider = expectName(providers, 'provider');
  for (const { lanes, redirect, overflow } of desired.models) {
    for (const lane of lanes) provider(lane.provider, lane.at);
    for (const link of [redirect, overflow])
      if (link !== null) expectName(callable, 'model or alias')(link.target, link.at);
  }
  for (const alias of desired.aliases) model(alias.model, alias.at);
  for (const organisation of desired.organisations) {
    expectName(current.organisations, 'organisation')(organisation.slug, organisation.at);
    for (const access of organisation.access) model(access.model, access.at);
    const existing = current.organisations.get(organisation.slug);
    for (const department of organisation.departments) {
      if (existing !== undefined)
        expectName(existing.departments, 'department')(department.name, department.at);
      for (const access of department.access) model(access.model, access.at);
    }
  }
  return faults;
}

/** A client certificate identifies the gateway to the supplier but does not replace an API credential. */
const isCertificate = ({ secret }: DesiredCredential): boolean => secret.kind === 'client-certificate';

function warnMissingSecrets(desired: DesiredCatalogue, current: CurrentCatalogue): string[] {
  return desired.providers.flatMap(({ name, needsSecret, credentials }) => {
    const hasStoredSecret = Object.keys(current.providers.get(name)?.credentials ?? {}).length > 0;
    return needsSecret && credentials.every(isCertificate) && !hasStoredSecret
      ? [`provider ${name} has no secret: its lanes are not used until it has one`]
      : [];
  });
}

function warnUnpricedModels(desired: DesiredCatalogue, current: CurrentCatalogue): string[] {
  return desired.models.flatMap(({ name, lanes, price, redirect }) => {
    const existing = current.models.get(name);
    const isPriced = price !== null || (existing?.price ?? null) !== null;
    const unpricedLanes = lanes.filter((lane) => lane.enabled && lane.price === null);
    if (redirect !== null || isPriced || unpricedLanes.length === 0) return [];
    return [`model ${name} has no price: lanes without one are not used`];
  });
}
