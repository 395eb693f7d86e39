import { AddressGuard, SelectingTransport, type TableRow } from '../platform';
import {
  type CurrentCatalogue,
  type CurrentModel,
  type CurrentProvider,
  egressTerms,
  readCurrent,
} from '../catalogue';
import { tryConnection } from './connect';
import { fail, type CheckFinding, ok, type CheckContext, reasonOf, warn } from './check-finding';

const SUPPLIER_DEADLINE_MS = 3_000;

export async function checkCatalogue({ database }: CheckContext): Promise<CheckFinding> {
  const what = 'catalogue';
  const current = await database.transaction((tx) => readCurrent(tx));
  const active = [...current.models.values()].filter(({ state }) => state === 'active');
  const servable = active.filter((model) => model.redirect !== null || isServable(model, current));
  const advice = 'Describe suppliers, models and prices in a gateway.yaml and apply it: docs/gateway-yaml.md';
  if (servable.length === 0) return fail(what, 'no active model has a lane and a price', advice);
  const unservableNames = active.filter((model) => !servable.includes(model)).map(({ name }) => name);
  if (unservableNames.length === 0) return ok(what, `${servable.length} active models with lanes and prices`);
  return warn(
    what,
    `without a usable lane or a price: ${unservableNames.join(', ')}`,
    'Give them both, or pause them.',
  );
}

function isServable({ lanes, price }: CurrentModel, { providers }: CurrentCatalogue): boolean {
  return lanes.some(
    (lane) =>
      lane.enabled && providers.get(lane.provider)?.visible === true && (lane.price ?? price) !== null,
  );
}

export const isServedByRealSupplier = (current: CurrentCatalogue): boolean => {
  const isReal = ({ provider }: CurrentModel['lanes'][number]): boolean =>
    current.providers.get(provider)?.style !== 'sandbox';
  return [...current.models.values()].some(
    (model) =>
      model.state === 'active' && isServable({ ...model, lanes: model.lanes.filter(isReal) }, current),
  );
};

/** Without a usable model, no tool call is approved. */
export async function checkSafeguardsModel({ database, settings }: CheckContext): Promise<CheckFinding> {
  const what = 'safeguards';
  const { safeguardsModel: name } = settings;
  if (name === undefined) return ok(what, 'no model reviews tool calls (SAFEGUARDS_MODEL)');
  const current = await database.transaction((tx) => readCurrent(tx));
  const model = current.models.get(name);
  if (model?.state === 'active' && isServable(model, current)) return ok(what, `${name} reviews tool calls`);
  return warn(
    what,
    `${name} cannot review tool calls: no active model of this name has a lane and a price`,
    'Set SAFEGUARDS_MODEL to a chat model of the catalogue.',
  );
}

/** Fails for a provider that needs a key and has none, as it serves no request. */
export async function checkSupplierKeys({ database, styles }: CheckContext): Promise<CheckFinding> {
  const what = 'supplier keys';
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const visible = [...providers.values()].filter((provider) => provider.visible);
  const unknownStyle = visible.filter(({ style }) => !styles.names.includes(style));
  const withoutKey = visible.filter(
    (provider) =>
      !unknownStyle.includes(provider) &&
      Object.keys(provider.credentials).length === 0 &&
      styles.of(provider).needsCredential(provider),
  );
  const listNames = (list: readonly CurrentProvider[]): string => list.map(({ name }) => name).join(', ');
  if (unknownStyle.length > 0)
    return fail(
      what,
      `of a style that is not there: ${listNames(unknownStyle)}`,
      `There are ${styles.names.join(', ')}.`,
    );
  if (withoutKey.length > 0)
    return fail(
      what,
      `missing for ${listNames(withoutKey)}`,
      'Give each its api_key in the gateway.yaml, and apply it.',
    );
  return ok(what, 'every provider that needs one has one');
}

/** Connects up to the handshake, through the same guard as requests; sends nothing. */
export async function checkSuppliersReachable({ database, settings }: CheckContext): Promise<CheckFinding[]> {
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const guard = new AddressGuard(settings.supplierAllow);
  const realProviders = [...providers.values()].filter(
    ({ visible, style }) => visible && style !== 'sandbox',
  );
  if (realProviders.length === 0)
    return [warn('suppliers', 'none but the sandbox', 'Add one in a gateway.yaml: docs/gateway-yaml.md')];
  const transport = new SelectingTransport(
    { ...settings, supplierConnectTimeoutMs: SUPPLIER_DEADLINE_MS },
    guard,
  );
  try {
    return await Promise.all(
      realProviders.map(
        async (provider) =>
          (await checkConfiguredEgress(provider, guard, transport)) ??
          checkSupplier(`supplier ${provider.name}`, provider.baseUrl, guard),
      ),
    );
  } finally {
    transport.close();
  }
}

/** Checks the connection through a proxy or with custom certificates; undefined if the supplier is reached directly. */
async function checkConfiguredEgress(
  { name, baseUrl, settings }: CurrentProvider,
  guard: AddressGuard,
  transport: SelectingTransport,
): Promise<CheckFinding | undefined> {
  const checked = guard.checkBaseUrl(baseUrl);
  if (!checked.ok) return undefined;
  const what = `supplier ${name}`;
  const { host } = checked.value;
  try {
    const attempt = transport.tryConnecting(checked.value, egressTerms(settings, null));
    if (attempt === null) return undefined;
    await attempt;
    return ok(what, `${host} answers, by a way of docs/egress.md`);
  } catch (error) {
    return fail(what, `${host}: ${reasonOf(error)}`, 'Check the proxy and the certificates: docs/egress.md');
  }
}

async function checkSupplier(what: string, baseUrl: string, guard: AddressGuard): Promise<CheckFinding> {
  const checked = await guard.checkReachable(baseUrl);
  if (!checked.ok)
    return fail(what, `${baseUrl} ${checked.error}`, 'Correct the address, or allow it in SUPPLIER_ALLOW.');
  const { hostname, port, protocol, host } = checked.value;
  const secure = protocol === 'https:';
  try {
    await tryConnection({
      host: hostname,
      port: Number(port) || (secure ? 443 : 80),
      secure,
      deadlineMs: SUPPLIER_DEADLINE_MS,
      lookup: guard.lookupFor(checked.value),
    });
    return ok(what, `${host} answers`);
  } catch (error) {
    return fail(
      what,
      `${host}: ${reasonOf(error)}`,
      'Check the address and the way there, such as a firewall.',
    );
  }
}

/**
 * Reports the state that the service last saw: a credential is marked when its supplier rejects it, and again when it
 * is accepted.
 */
export async function checkCredentials({ database }: CheckContext): Promise<CheckFinding[]> {
  const rejectedCredentials = await database.query<
    TableRow<'provider_credential', 'label'> & { readonly provider: string }
  >(
    `SELECT p.name AS provider, c.label FROM provider_credential c JOIN provider p ON p.id = c.provider_id
      WHERE c.health = 'rejected' AND c.disabled_at IS NULL AND p.removed_at IS NULL ORDER BY 1, 2`,
  );
  return rejectedCredentials.map(({ provider, label }) =>
    fail(
      `credential ${provider}`,
      `the supplier refuses "${label}"`,
      'The log has its words (alert). Fill or reopen the account, or enter a new secret: put it where gateway.yaml ' +
        'refers to, and apply the file.',
    ),
  );
}
