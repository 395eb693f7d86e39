import type { Contributions, Extension, Host, Need } from '#extension';
import type { ExtensionPorts } from './extension-ports';

/** An extension as it was found, with what it adds. */
export interface LoadedExtension {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  /** As the operator wrote it. */
  readonly from: string;
  readonly folder: string;
  readonly needs: readonly Need[];
  readonly parts: Pick<Extension, 'migrations' | 'views' | 'messages' | 'navigation'>;
  readonly adds: Contributions;
  readonly ports: ExtensionPorts;
  /** What `setup` was given, for those parts that the host makes. */
  readonly given: Host<unknown>;
}

/** A part together with the extension that brought it. */
export interface Owned<Part> {
  readonly extension: string;
  /** Unique among all of its kind: `<extension>/<name>`. */
  readonly name: string;
  readonly part: Part;
}
