import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/system/free-port';
import { Program, projectFolder } from '../../test/system/program';

const MAX_ATTEMPTS = 100;

export const proxyNames = ['nginx', 'haproxy', 'caddy'] as const;
export type ProxyName = (typeof proxyNames)[number];

interface ProxyKind {
  readonly file: string;
  /** The shipped file adapted to the ports of this machine and without certificates. */
  readonly adapted: (text: string, port: number, folder: string) => string;
  readonly command: (file: string, folder: string) => readonly [string, ...string[]];
}

const kinds: Readonly<Record<ProxyName, ProxyKind>> = {
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

/** A Debian proxy with the shipped configuration file. */
export class ReverseProxy {
  private constructor(
    readonly url: string,
    private readonly program: Program,
  ) {}

  static async start(name: ProxyName, nodes: readonly number[], root: string): Promise<ReverseProxy> {
    const { file, adapted, command } = kinds[name];
    const folder = join(root, name);
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const shipped = readFileSync(join(projectFolder, 'deploy', 'proxies', file), 'utf8');
    const text = nodes.reduce(
      (before, node, index) => before.replaceAll(`10.0.0.1${index + 1}:3000`, `127.0.0.1:${node}`),
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
    const proxy = new ReverseProxy(`http://127.0.0.1:${port}`, program);
    await proxy.waitUntilReady();
    return proxy;
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  private async waitUntilReady(): Promise<void> {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
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
