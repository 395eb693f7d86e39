import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/system/free-port';
import { Program, projectFolder } from '../../test/system/program';

const MOST_TRIES = 100;

export const proxyNames = ['nginx', 'haproxy', 'caddy'] as const;
export type ProxyName = (typeof proxyNames)[number];

interface Kind {
  readonly file: string;
  /** The shipped file with the ports of this machine and without certificates. */
  readonly adapted: (text: string, port: number, folder: string) => string;
  readonly command: (file: string, folder: string) => readonly [string, ...string[]];
}

const kinds: Readonly<Record<ProxyName, Kind>> = {
  nginx: {
    file: 'nginx.conf',
    adapted: (text, port, folder) =>
      [
        `daemon off; pid ${folder}/nginx.pid; error_log stderr warn; worker_processes 1;`,
        'events { worker_connections 4096; }',
        `http { access_log off; client_body_temp_path ${folder}/bodies; proxy_temp_path ${folder}/answers;`,
        `fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;`,
        text.replace('listen 443 ssl;', `listen 127.0.0.1:${port};`).replaceAll(/^ *ssl_.*$/gm, ''),
        '}',
      ].join('\n'),
    command: (file, folder) => ['nginx', '-p', folder, '-c', file],
  },
  haproxy: {
    file: 'haproxy.cfg',
    adapted: (text, port) =>
      `global\n  maxconn 4096\n${text.replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)}`,
    command: (file) => ['haproxy', '-db', '-f', file],
  },
  caddy: {
    file: 'Caddyfile',
    adapted: (text, port) =>
      `{\n\tadmin off\n\tauto_https off\n}\n${text.replace('models.example.com {', `http://127.0.0.1:${port} {`)}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
};

export const isInstalled = (name: ProxyName): boolean =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, name)));

/** A proxy of Debian with the file that we ship. */
export class Proxy {
  private constructor(
    readonly url: string,
    private readonly program: Program,
  ) {}

  static async start(name: ProxyName, nodes: readonly number[], root: string): Promise<Proxy> {
    const { file, adapted, command } = kinds[name];
    const folder = join(root, name);
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const shipped = readFileSync(join(projectFolder, 'deploy', 'proxies', file), 'utf8');
    const text = nodes.reduce(
      (before, node, place) => before.replaceAll(`10.0.0.1${place + 1}:3000`, `127.0.0.1:${node}`),
      adapted(shipped, port, folder),
    );
    const path = join(folder, file);
    writeFileSync(path, text);
    const [word, ...words] = command(path, folder);
    const program = Program.run(word, words, {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    });
    const proxy = new Proxy(`http://127.0.0.1:${port}`, program);
    await proxy.serves();
    return proxy;
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  private async serves(): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const status = await fetch(`${this.url}/health`).then(
        ({ status }) => status,
        () => 0,
      );
      if (status === 200) return;
      await delay(100);
    }
    throw new Error(`the proxy does not serve: ${this.program.text}`);
  }
}
