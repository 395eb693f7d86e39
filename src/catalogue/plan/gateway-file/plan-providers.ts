import { IsNull } from 'typeorm';
import { originsOf } from '../../credential';
import { Provider } from '../../entities';
import type { Tx } from '../../../platform';
import type { CredentialKeeper } from './credential-keeper';
import type { CurrentCatalogue, CurrentProvider } from '../current.query';
import type { DesiredCatalogue, DesiredCredential, DesiredProvider } from './desired';
import { changesBetween, type FieldChange, NO_TEXTS, providerTexts } from '../field-texts';
import { providerLabel, type Step } from '../step';

export async function planProviders(
  tx: Tx,
  desired: DesiredCatalogue,
  current: CurrentCatalogue,
  { keeper, once }: { readonly keeper: CredentialKeeper; readonly once: boolean },
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const provider of desired.providers) {
    const existing = current.providers.get(provider.name);
    const managed = !once || (existing?.managed ?? false);
    const desiredTexts = providerTexts({ ...provider, managed });
    const currentTexts = existing === undefined ? NO_TEXTS : providerTexts(existing);
    const changes = changesBetween(currentTexts, desiredTexts).filter(
      ({ field }) => !once || field !== 'managed',
    );
    const step = { ...provider, managed };
    if (changes.length > 0)
      steps.push(providerStep(step, existing, [...changes, ...lostSecrets(provider, existing)]));
    for (const credential of provider.credentials) {
      const step = await credentialStep(tx, provider, existing, credential, keeper);
      if (step !== undefined) steps.push(step);
    }
  }
  return steps;
}

/** Stored secrets are lost when the address changes, unless the file supplies them again. */
function lostSecrets(provider: DesiredProvider, existing: CurrentProvider | undefined): FieldChange[] {
  if (existing === undefined || originsOf(provider) === originsOf(existing)) return [];
  const suppliedLabels = new Set(provider.credentials.map(({ label }) => label));
  return Object.keys(existing.credentials).flatMap((label) =>
    suppliedLabels.has(label) ? [] : [{ field: `secret ${label}`, before: 'set', after: null }],
  );
}

function providerStep(
  provider: DesiredProvider & { readonly managed: boolean },
  existing: CurrentProvider | undefined,
  changes: readonly FieldChange[],
): Step {
  const { at, name, style, baseUrl, regions, visible, settings, timeouts, breaker } = provider;
  const fields = {
    name,
    style,
    baseUrl,
    regions: [...regions],
    visible,
    settings: { ...settings },
    timeouts,
    breaker,
    managed: provider.managed,
  };
  return {
    at,
    kind: 'provider',
    name,
    mark: existing === undefined ? 'new' : 'changed',
    changes,
    needs: [],
    run: (tx, { editor }) => editor.upsertProvider(tx, fields),
  };
}

async function credentialStep(
  tx: Tx,
  provider: DesiredProvider,
  existing: CurrentProvider | undefined,
  { at, label, secret }: DesiredCredential,
  keeper: CredentialKeeper,
): Promise<Step | undefined> {
  const { name } = provider;
  const comparison =
    existing === undefined ? 'missing' : await keeper.compare(tx, existing.id, label, secret, provider);
  if (comparison === 'same') return undefined;
  const isNew = comparison === 'missing';
  return {
    at,
    kind: 'provider',
    name,
    mark: existing === undefined ? 'new' : 'changed',
    changes: [{ field: `secret ${label}`, before: isNew ? null : 'set', after: isNew ? 'set' : 'changed' }],
    needs: [providerLabel(name)],
    run: async (inner) => keeper.put(inner, await providerId(inner, name), label, secret),
  };
}

async function providerId(tx: Tx, name: string): Promise<number> {
  const provider = await tx.findOneBy(Provider, { name, removedAt: IsNull() });
  if (provider === null) throw new Error(`the provider ${name} is not there`);
  return provider.id;
}
