import type { Need, Ports } from '#extension';
import { ExtensionRefused } from './extension-refused';

export const allNeeds: readonly Need[] = ['records.read', 'keys.read', 'mail.send', 'db', 'http.out'];

export type PortFactory<Name extends Need> = (extension: string) => Ports[Name];

/** Ports of one extension. The properties exist from the start; each works once the host has provided its port. */
export class ExtensionPorts {
  readonly byNeed: Partial<Ports> = {};
  private readonly instances = new Map<Need, object>();

  constructor(
    private readonly extension: string,
    needs: readonly Need[],
  ) {
    for (const need of needs)
      Object.defineProperty(this.byNeed, need, { enumerable: true, get: () => this.port(need) });
  }

  provide<Name extends Need>(name: Name, factory: PortFactory<Name>): void {
    if (Object.hasOwn(this.byNeed, name)) this.instances.set(name, factory(this.extension));
  }

  private port(need: Need) {
    const port = this.instances.get(need);
    if (port === undefined)
      throw new ExtensionRefused(
        this.extension,
        `it used the port ${need} before the service had started; use it in a hook`,
      );
    return port;
  }
}
