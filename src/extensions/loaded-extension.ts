import type { Contributions, Extension, Host, Need } from '#extension';
import type { ExtensionPorts } from './extension-ports';

export interface LoadedExtension {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  /** The path or package name as the operator wrote it. */
  readonly from: string;
  readonly folder: string;
  readonly needs: readonly Need[];
  readonly parts: Pick<Extension, 'migrations' | 'views' | 'messages' | 'navigation'>;
  readonly adds: Contributions;
  readonly ports: ExtensionPorts;
  /** The host object passed to `setup`, for contributions that the host instantiates. */
  readonly hostContext: Host<unknown>;
}

export interface ExtensionPart<Part> {
  readonly extension: string;
  /** `<extension>/<name>`; unique among all parts of its kind. */
  readonly name: string;
  readonly part: Part;
}
