import type { Need, Ports } from '#extension';
import { ExtensionRefused } from './extension-refused';

export const allNeeds: readonly Need[] = ['records.read', 'keys.read', 'mail.send', 'db', 'http.out'];

/** Makes one port for one extension. */
export type PortMaker<Name extends Need> = (extension: string) => Ports[Name];

/** The ports of one extension. They exist from the start on, and answer once the host has given them. */
export class ExtensionPorts {
  readonly given: Partial<Ports> = {};
  private readonly made = new Map<Need, object>();

  constructor(
    private readonly extension: string,
    needs: readonly Need[],
  ) {
    for (const need of needs)
      Object.defineProperty(this.given, need, { enumerable: true, get: () => this.port(need) });
  }

  give<Name extends Need>(name: Name, maker: PortMaker<Name>): void {
    if (Object.hasOwn(this.given, name)) this.made.set(name, maker(this.extension));
  }

  private port(need: Need) {
    const port = this.made.get(need);
    if (port === undefined)
      throw new ExtensionRefused(
        this.extension,
        `it used the port ${need} before the service had started; use it in a hook`,
      );
    return port;
  }
}
