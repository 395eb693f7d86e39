import { DAY_MS } from '../kernel';
import { certificatesIn, NoProxy, type Settings } from '../platform';
import { tryConnection } from './connect';
import { fail, type Finding, ok, reasonOf, warn } from './finding';

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

function certificates(what: string, pem: string | undefined): Finding[] {
  const found = pem === undefined ? [] : certificatesIn(pem);
  const [first] = found
    .map(({ validToDate }) => validToDate)
    .sort((left, right) => Number(left) - Number(right));
  if (first === undefined) return [];
  const days = Math.floor((Number(first) - Date.now()) / DAY_MS);
  const day = first.toISOString().slice(0, 10);
  if (days < 0) return [fail(what, `ended on ${day}`, 'Replace it, and restart the service.')];
  if (days < NOTICE_DAYS) return [warn(what, `ends on ${day}`, 'Replace it, and restart the service.')];
  return [ok(what, `good until ${day}`)];
}
