import { DAY_MS } from '../kernel';
import {
  CredentialStore,
  ignoredEgressFields,
  loadSnapshot,
  providerCertificates,
  readCurrent,
} from '../catalogue';
import { earliestExpiry, MasterKeys, NoProxy, SecretBox, type Settings } from '../platform';
import { tryConnection } from './connect';
import { type CheckContext, fail, type CheckFinding, ok, reasonOf, warn } from './check-finding';

const PROXY_DEADLINE_MS = 3_000;
/** Leaves enough time to get a new certificate issued. */
const NOTICE_DAYS = 30;

export async function checkEgress(settings: Settings): Promise<CheckFinding[]> {
  const { egressProxy, egressProxies, noProxy } = settings;
  const namedProxies = egressProxies.map(({ name, url }) => [`proxy ${name}`, url] as const);
  const proxies =
    egressProxy === undefined ? namedProxies : [['proxy', egressProxy] as const, ...namedProxies];
  const { unreadable } = new NoProxy(noProxy);
  return [
    ...(await Promise.all(proxies.map(([what, url]) => checkProxy(what, url, settings)))),
    ...(unreadable.length === 0
      ? []
      : [warn('NO_PROXY', `stands for nothing: ${unreadable.join(', ')}`, 'Rules: docs/egress.md')]),
    ...checkCertificates('authorities', settings.egressCa),
    ...checkCertificates('client certificate', settings.egressClientCertificate),
  ];
}

async function checkProxy(what: string, address: string, { egressCa }: Settings): Promise<CheckFinding> {
  const { hostname, port, protocol, host } = new URL(address);
  const secure = protocol === 'https:';
  try {
    await tryConnection({
      host: hostname,
      port: Number(port) || (secure ? 443 : 80),
      secure,
      deadlineMs: PROXY_DEADLINE_MS,
      ca: egressCa,
    });
    return ok(what, `${host} answers`);
  } catch (error) {
    return fail(what, `${host}: ${reasonOf(error)}`, 'Check EGRESS_PROXY, EGRESS_PROXIES and the way there.');
  }
}

export async function checkProviderCertificates({
  database,
  settings,
}: CheckContext): Promise<CheckFinding[]> {
  const snapshot = await loadSnapshot(database);
  const box = new SecretBox(MasterKeys.parse(settings.masterKey));
  const store = await CredentialStore.create(database, box, snapshot);
  return providerCertificates(snapshot.providers, store).map(({ provider, what, endsAt }) => {
    const advice = 'Enter another one for the provider: docs/egress.md';
    const subject = `${what} of ${provider}`;
    return endsAt === null
      ? fail(subject, 'cannot be read', advice)
      : certificateFinding(subject, endsAt, advice);
  });
}

/** Warns of providers whose stored settings still request HTTP/2, which earlier versions supported. */
export async function checkHttp2Settings({ database }: CheckContext): Promise<CheckFinding[]> {
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const names = [...providers.values()]
    .filter(({ settings }) => ignoredEgressFields(settings).includes('http2'))
    .map(({ name }) => name);
  if (names.length === 0) return [];
  const message = `ignored in settings.egress of ${names.join(', ')}: suppliers are reached over HTTP/1.1`;
  return [warn('HTTP/2', message, 'Remove "http2" from settings.egress of the provider.')];
}

function checkCertificates(what: string, pem: string | undefined): CheckFinding[] {
  const endsAt = pem === undefined ? null : earliestExpiry(pem);
  return endsAt === null ? [] : [certificateFinding(what, endsAt, 'Replace it, and restart the service.')];
}

function certificateFinding(what: string, endsAt: Date, advice: string): CheckFinding {
  const days = Math.floor((endsAt.getTime() - Date.now()) / DAY_MS);
  const day = endsAt.toISOString().slice(0, 10);
  if (days < 0) return fail(what, `ended on ${day}`, advice);
  return days < NOTICE_DAYS ? warn(what, `ends on ${day}`, advice) : ok(what, `good until ${day}`);
}
