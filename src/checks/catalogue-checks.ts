import { AddressGuard, ChosenTransport, type Row } from '../platform';
import {
  type Current,
  type CurrentModel,
  type CurrentProvider,
  egressTerms,
  readCurrent,
} from '../catalogue';
import { tryConnection } from './connect';
import { fail, type Finding, ok, type CheckContext, reasonOf, warn } from './finding';

const SUPPLIER_DEADLINE_MS = 3_000;

export async function catalogueLoaded({ database }: CheckContext): Promise<Finding> {
  const what = 'catalogue';
  const current = await database.transaction((tx) => readCurrent(tx));
  const active = [...current.models.values()].filter(({ state }) => state === 'active');
  const ready = active.filter((model) => model.redirect !== null || isServable(model, current));
  const advice = 'Describe suppliers, models and prices in a gateway.yaml and apply it: docs/gateway-yaml.md';
  if (ready.length === 0) return fail(what, 'no active model has a lane and a price', advice);
  const left = active.filter((model) => !ready.includes(model)).map(({ name }) => name);
  if (left.length === 0) return ok(what, `${ready.length} active models with lanes and prices`);
  return warn(what, `without a usable lane or a price: ${left.join(', ')}`, 'Give them both, or pause them.');
}

function isServable({ lanes, price }: CurrentModel, { providers }: Current): boolean {
  return lanes.some(
    (lane) =>
      lane.enabled && providers.get(lane.provider)?.visible === true && (lane.price ?? price) !== null,
  );
}

/** A supplier other than the sandbox can serve a model where this holds. */
export const isServedByReal = (current: Current): boolean => {
  const isReal = ({ provider }: CurrentModel['lanes'][number]): boolean =>
    current.providers.get(provider)?.style !== 'sandbox';
  return [...current.models.values()].some(
    (model) =>
      model.state === 'active' && isServable({ ...model, lanes: model.lanes.filter(isReal) }, current),
  );
};

/** Without a usable model, no tool call is cleared. */
export async function safeguardsJudged({ database, settings }: CheckContext): Promise<Finding> {
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

/** A provider that needs a key and has none serves no request. */
export async function suppliersPaid({ database, styles }: CheckContext): Promise<Finding> {
  const what = 'supplier keys';
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const visible = [...providers.values()].filter((provider) => provider.visible);
  const unknown = visible.filter(({ style }) => !styles.names.includes(style));
  const without = visible.filter(
    (provider) =>
      !unknown.includes(provider) &&
      Object.keys(provider.credentials).length === 0 &&
      styles.of(provider).needsCredential(provider),
  );
  const named = (list: readonly CurrentProvider[]): string => list.map(({ name }) => name).join(', ');
  if (unknown.length > 0)
    return fail(
      what,
      `of a style that is not there: ${named(unknown)}`,
      `There are ${styles.names.join(', ')}.`,
    );
  if (without.length > 0)
    return fail(
      what,
      `missing for ${named(without)}`,
      'Give each its api_key in the gateway.yaml, and apply it.',
    );
  return ok(what, 'every provider that needs one has one');
}

/** Connects as far as the handshake, by the same guard that requests go through; sends nothing. */
export async function suppliersReachable({ database, settings }: CheckContext): Promise<Finding[]> {
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const guard = new AddressGuard(settings.supplierAllow);
  const outside = [...providers.values()].filter(({ visible, style }) => visible && style !== 'sandbox');
  if (outside.length === 0)
    return [warn('suppliers', 'none but the sandbox', 'Add one in a gateway.yaml: docs/gateway-yaml.md')];
  // The deadline of an examination, not that of a service.
  const transport = new ChosenTransport(
    { ...settings, supplierConnectTimeoutMs: SUPPLIER_DEADLINE_MS },
    guard,
  );
  try {
    return await Promise.all(
      outside.map(
        async (provider) =>
          (await byOtherWay(provider, guard, transport)) ??
          supplier(`supplier ${provider.name}`, provider.baseUrl, guard),
      ),
    );
  } finally {
    transport.close();
  }
}

/** Through a proxy, or with certificates of its own; undefined where a supplier is reached as usual. */
async function byOtherWay(
  { name, baseUrl, settings }: CurrentProvider,
  guard: AddressGuard,
  transport: ChosenTransport,
): Promise<Finding | undefined> {
  const checked = guard.checkBaseUrl(baseUrl);
  if (!checked.ok) return undefined;
  const what = `supplier ${name}`;
  const { host } = checked.value;
  try {
    const tried = transport.tryOpening(checked.value, egressTerms(settings, null));
    if (tried === null) return undefined;
    await tried;
    return ok(what, `${host} answers, by a way of docs/egress.md`);
  } catch (error) {
    return fail(what, `${host}: ${reasonOf(error)}`, 'Check the proxy and the certificates: docs/egress.md');
  }
}

async function supplier(what: string, baseUrl: string, guard: AddressGuard): Promise<Finding> {
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
 * It tells what the service last saw: a credential is marked when its supplier refuses it, and again when it is
 * accepted.
 */
export async function credentialsAccepted({ database }: CheckContext): Promise<Finding[]> {
  const refused = await database.query<Row<'provider_credential', 'label'> & { readonly provider: string }>(
    `SELECT p.name AS provider, c.label FROM provider_credential c JOIN provider p ON p.id = c.provider_id
      WHERE c.health = 'rejected' AND c.disabled_at IS NULL AND p.removed_at IS NULL ORDER BY 1, 2`,
  );
  return refused.map(({ provider, label }) =>
    fail(
      `credential ${provider}`,
      `the supplier refuses "${label}"`,
      'The log has its words (alert). Fill or reopen the account, or enter a new secret: put it where gateway.yaml ' +
        'refers to, and apply the file.',
    ),
  );
}
