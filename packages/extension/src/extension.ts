import type { Command, Job } from './commands';
import type { PriceComponent } from './fees';
import type { Gate } from './gates';
import type { IdentityProvider } from './identity';
import type { NavigationEntry } from './navigation';
import type { Policy } from './policies';
import type { Need, Ports } from './ports';
import type { StandardSchema } from './standard-schema';
import type { SupplierStyle } from './suppliers';
import type { Tap } from './taps';

/** A class that the host instantiates, such as a Nest module. */
export type ModuleClass = abstract new (...parts: never[]) => object;

/** Writes to the service's log; `fields` are in snake case. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The host as an extension sees it: settings, log, and the ports listed in `needs`. */
export interface Host<Settings = undefined, Needs extends Need = Need> {
  readonly settings: Settings;
  readonly log: Log;
  /** Available once the service has started. */
  readonly ports: Pick<Ports, Needs>;
}

/** Contributions of an extension to the host. */
export interface Contributions {
  /** An ordinary Nest module with pages and providers. */
  readonly module?: ModuleClass;
  readonly suppliers?: readonly SupplierStyle[];
  readonly gates?: readonly Gate[];
  readonly taps?: readonly Tap[];
  readonly policies?: readonly Policy[];
  readonly identityProviders?: readonly IdentityProvider[];
  readonly priceComponents?: readonly PriceComponent[];
  readonly jobs?: readonly Job[];
  readonly commands?: readonly Command[];
}

export interface Extension<Settings = undefined, Needs extends Need = never> {
  /** Lower-case letters, digits and hyphens, starting with a letter. */
  readonly id: string;
  readonly version: string;
  /** Supported versions of this contract, such as `^1`. */
  readonly host: string;
  /** Ports that the extension uses; no others are provided. */
  readonly needs?: readonly Needs[];
  /** Any Standard Schema for the variables `EXT_<ID>_…`. Defaults to no settings. */
  readonly settings?: StandardSchema<Settings>;
  /** Folder of the extension with files such as `001-what-it-does.sql`, which run in the order of their names. */
  readonly migrations?: string;
  /** Folder next to the entry file with Handlebars templates. */
  readonly views?: string;
  /** Folder next to the entry file with one JSON file per language. */
  readonly messages?: string;
  readonly navigation?: readonly NavigationEntry[];
  /** Called once, when the service or a command starts. */
  setup(host: Host<Settings, Needs>): Contributions | Promise<Contributions>;
}

/** Checks the types of an extension and returns it unchanged. */
export const defineExtension = <Settings = undefined, const Needs extends Need = never>(
  extension: Extension<Settings, Needs>,
): Extension<Settings, Needs> => extension;
