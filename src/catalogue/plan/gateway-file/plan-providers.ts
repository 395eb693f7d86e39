import { CatalogueEditor } from '../../catalogue-editor.service';
import { originsOf } from '../../credential';
import type { Row, Tx } from '../../../platform';
import type { CredentialKeeper } from './credential-keeper';
import type { Current, CurrentProvider } from '../current';
import type { Desired, DesiredCredential, DesiredProvider } from './desired';
import { changesBetween, type FieldChange, noTexts, providerTexts } from '../field-texts';
import { providerNamed, type Step } from '../step';

const editor = new CatalogueEditor();

export async function planProviders(
  tx: Tx,
  desired: Desired,
  current: Current,
  { keeper, once }: { readonly keeper: CredentialKeeper; readonly once: boolean },
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const provider of desired.providers) {
    const known = current.providers.get(provider.name);
    const managed = !once || (known?.managed ?? false);
    const wanted = providerTexts({ ...provider, managed });
    const texts = known === undefined ? noTexts : providerTexts(known);
    const changes = changesBetween(texts, wanted).filter(({ field }) => !once || field !== 'managed');
    const step = { ...provider, managed };
    if (changes.length > 0)
      steps.push(providerStep(step, known, [...changes, ...lostSecrets(provider, known)]));
    for (const credential of provider.credentials) {
      const step = await credentialStep(tx, provider, known, credential, keeper);
      if (step !== undefined) steps.push(step);
    }
  }
  return steps;
}

/** Secrets go with the address they were entered for, unless the file brings them anew. */
function lostSecrets(provider: DesiredProvider, known: CurrentProvider | undefined): FieldChange[] {
  if (known === undefined || originsOf(provider) === originsOf(known)) return [];
  const brought = new Set(provider.credentials.map(({ label }) => label));
  return Object.keys(known.credentials).flatMap((label) =>
    brought.has(label) ? [] : [{ field: `secret ${label}`, before: 'set', after: null }],
  );
}

function providerStep(
  provider: DesiredProvider & { readonly managed: boolean },
  known: CurrentProvider | undefined,
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
    mark: known === undefined ? 'new' : 'changed',
    changes,
    needs: [],
    run: (tx) => editor.upsertProvider(tx, fields),
  };
}

async function credentialStep(
  tx: Tx,
  provider: DesiredProvider,
  known: CurrentProvider | undefined,
  { at, label, secret }: DesiredCredential,
  keeper: CredentialKeeper,
): Promise<Step | undefined> {
  const { name } = provider;
  const kept = known === undefined ? 'missing' : await keeper.compare(tx, known.id, label, secret, provider);
  if (kept === 'same') return undefined;
  const isNew = kept === 'missing';
  return {
    at,
    kind: 'provider',
    name,
    mark: known === undefined ? 'new' : 'changed',
    changes: [{ field: `secret ${label}`, before: isNew ? null : 'set', after: isNew ? 'set' : 'changed' }],
    needs: [providerNamed(name)],
    run: async (inner) => keeper.put(inner, await providerId(inner, name), label, secret),
  };
}

async function providerId(tx: Tx, name: string): Promise<number> {
  const [row] = await tx.query<Row<'provider', 'id'>[]>(
    'SELECT id FROM provider WHERE name = $1 AND removed_at IS NULL',
    [name],
  );
  if (row === undefined) throw new Error(`the provider ${name} is not there`);
  return row.id;
}
