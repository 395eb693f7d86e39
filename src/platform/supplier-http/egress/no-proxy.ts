import type { BlockList } from 'node:net';
import { familyOf, listOf } from '../address-ranges';

interface NoProxyEntry {
  readonly port: number | undefined;
  /** A name also matches all its subdomains. */
  readonly name: string;
  readonly networks: BlockList | undefined;
}

/**
 * Hosts that are reached without a proxy, by the rules of curl (https://curl.se/docs/manpage.html, `--noproxy`) and,
 * for ports and stars, of Go (https://pkg.go.dev/golang.org/x/net/http/httpproxy).
 */
export class NoProxy {
  private readonly entries: readonly NoProxyEntry[];
  private readonly isEverything: boolean;
  /** Entries that cannot be parsed and match nothing. */
  readonly unreadable: readonly string[];

  constructor(text: string) {
    const words = text.split(/[\s,]+/).filter((word) => word !== '');
    const entries = words.map((word) => entryOf(word.toLowerCase()));
    this.isEverything = words.includes('*');
    this.entries = entries.filter((entry) => entry !== undefined);
    this.unreadable = words.filter((word, at) => word !== '*' && entries[at] === undefined);
  }

  has(hostname: string, port: number): boolean {
    if (this.isEverything) return true;
    const host = withoutBrackets(hostname).toLowerCase();
    const family = familyOf(host);
    return this.entries.some(({ name, networks, port: only }) => {
      if (only !== undefined && only !== port) return false;
      if (family !== undefined) return networks?.check(host, family) ?? false;
      return networks === undefined && (host === name || host.endsWith(`.${name}`));
    });
  }
}

function entryOf(text: string): NoProxyEntry | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const host = withoutBrackets(bracketed ?? plain ?? text);
  const [address = '', length, ...rest] = host.split('/');
  const family = familyOf(address);
  if (family !== undefined) {
    const maxPrefix = family === 'ipv4' ? 32 : 128;
    const prefix = Number(length ?? maxPrefix);
    if (rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length)) || prefix > maxPrefix)
      return undefined;
    return { port, name: '', networks: listOf([{ address, prefix, family }]) };
  }
  const name = host.replace(/^\*?\./, '');
  return /^[a-z0-9_.-]+$/.test(name) ? { port, name, networks: undefined } : undefined;
}

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
