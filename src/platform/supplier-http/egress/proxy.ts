export class Proxy {
  /** Without credentials, so that it can be shown. */
  readonly origin: URL;
  readonly headers: Readonly<Record<string, string>>;

  constructor(address: string) {
    const { origin, username, password } = new URL(address);
    this.origin = new URL(origin);
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.headers =
      username === '' && password === ''
        ? {}
        : { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
  }

  get host(): string {
    return this.origin.host;
  }
}
