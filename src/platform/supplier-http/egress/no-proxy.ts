import type { BlockList } from 'node:net';
import { familyOf, listOf } from '../address-ranges';

interface Entry {
  readonly port: number | undefined;
  /** A name stands for all below it, too. */
  readonly name: string;
  readonly networks: BlockList | undefined;
}

/**
 * The hosts that are reached without a proxy, by the rules of curl (https://curl.se/docs/manpage.html, `--noproxy`)
 * and, for ports and stars, of Go (https://pkg.go.dev/golang.org/x/net/http/httpproxy).
 */
export class NoProxy {
  private readonly entries: readonly Entry[];
  private readonly isEverything: boolean;
  /** These entries stand for nothing. */
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
    const host = bare(hostname).toLowerCase();
    const family = familyOf(host);
    return this.entries.some(({ name, networks, port: only }) => {
      if (only !== undefined && only !== port) return false;
      if (family !== undefined) return networks?.check(host, family) ?? false;
      return networks === undefined && (host === name || host.endsWith(`.${name}`));
    });
  }
}

function entryOf(word: string): Entry | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(word) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const host = bare(bracketed ?? plain ?? word);
  const [address = '', length, ...rest] = host.split('/');
  const family = familyOf(address);
  if (family !== undefined) {
    const widest = family === 'ipv4' ? 32 : 128;
    const prefix = Number(length ?? widest);
    if (rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length)) || prefix > widest)
      return undefined;
    return { port, name: '', networks: listOf([{ address, prefix, family }]) };
  }
  const name = host.replace(/^\*?\./, '');
  return /^[a-z0-9_.-]+$/.test(name) ? { port, name, networks: undefined } : undefined;
}

const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
