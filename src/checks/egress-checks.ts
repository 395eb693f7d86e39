import { DAY_MS } from '../kernel';
import {
  CredentialStore,
  ignoredEgressFields,
  loadSnapshot,
  providerCertificates,
  readCurrent,
} from '../catalogue';
import { firstEndIn, MasterKeys, NoProxy, SecretBox, type Settings } from '../platform';
import { tryConnection } from './connect';
import { type CheckContext, fail, type Finding, ok, reasonOf, warn } from './finding';

const PROXY_DEADLINE_MS = 3_000;
/** Time enough to have a new certificate made. */
const NOTICE_DAYS = 30;

/** The proxies answer, and the certificates of the settings hold for a while. */
export async function egress(settings: Settings): Promise<Finding[]> {
  const { egressProxy, egressProxies, noProxy } = settings;
  const named = egressProxies.map(({ name, url }) => [`proxy ${name}`, url] as const);
  const proxies = egressProxy === undefined ? named : [['proxy', egressProxy] as const, ...named];
  const { unreadable } = new NoProxy(noProxy);
  return [
    ...(await Promise.all(proxies.map(([what, url]) => proxy(what, url, settings)))),
    ...(unreadable.length === 0
      ? []
      : [warn('NO_PROXY', `stands for nothing: ${unreadable.join(', ')}`, 'Rules: docs/egress.md')]),
    ...certificates('authorities', settings.egressCa),
    ...certificates('client certificate', settings.egressClientCertificate),
  ];
}

async function proxy(what: string, address: string, { egressCa }: Settings): Promise<Finding> {
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

/** So do those that single providers have. */
export async function providersCertified({ database, settings }: CheckContext): Promise<Finding[]> {
  const snapshot = await loadSnapshot(database);
  const box = new SecretBox(MasterKeys.parse(settings.masterKey));
  const store = await CredentialStore.loaded(database, box, snapshot);
  return providerCertificates(snapshot.providers, store).map(({ provider, what, endsAt }) => {
    const advice = 'Enter another one for the provider: docs/egress.md';
    const subject = `${what} of ${provider}`;
    return endsAt === null ? fail(subject, 'cannot be read', advice) : lasting(subject, endsAt, advice);
  });
}

/** Providers whose stored settings still ask for HTTP/2, which suppliers were reached over in earlier versions. */
export async function http2Ignored({ database }: CheckContext): Promise<Finding[]> {
  const { providers } = await database.transaction((tx) => readCurrent(tx));
  const names = [...providers.values()]
    .filter(({ settings }) => ignoredEgressFields(settings).includes('http2'))
    .map(({ name }) => name);
  if (names.length === 0) return [];
  const found = `ignored in settings.egress of ${names.join(', ')}: suppliers are reached over HTTP/1.1`;
  return [warn('HTTP/2', found, 'Remove "http2" from settings.egress of the provider.')];
}

function certificates(what: string, pem: string | undefined): Finding[] {
  const endsAt = pem === undefined ? null : firstEndIn(pem);
  return endsAt === null ? [] : [lasting(what, endsAt, 'Replace it, and restart the service.')];
}

function lasting(what: string, endsAt: Date, advice: string): Finding {
  const days = Math.floor((endsAt.getTime() - Date.now()) / DAY_MS);
  const day = endsAt.toISOString().slice(0, 10);
  if (days < 0) return fail(what, `ended on ${day}`, advice);
  return days < NOTICE_DAYS ? warn(what, `ends on ${day}`, advice) : ok(what, `good until ${day}`);
}
