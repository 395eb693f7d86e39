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

/** A class that the host makes, such as a Nest module. */
export type ModuleClass = abstract new (...parts: never[]) => object;

/** An entry of the service's log; `fields` are in snake case. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The host as an extension sees it: the settings, the log, and the ports that it named. */
export interface Host<Settings = undefined, Needs extends Need = Need> {
  readonly settings: Settings;
  readonly log: Log;
  /** They answer once the service has started. */
  readonly ports: Pick<Ports, Needs>;
}

/** The parts that an extension adds to the host. */
export interface Contributions {
  /** An ordinary Nest module, with pages and providers of its own. */
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
  /** Small letters, digits and hyphens; the first is a letter. */
  readonly id: string;
  readonly version: string;
  /** The versions of this contract that it was written for, such as `^1`. */
  readonly host: string;
  /** Only these ports are given to it. */
  readonly needs?: readonly Needs[];
  /** Any Standard Schema over the variables `EXT_<ID>_…`. Without one there are no settings. */
  readonly settings?: StandardSchema<Settings>;
  /** A folder of the extension with files such as `001-what-it-does.sql`, which run in the order of their names. */
  readonly migrations?: string;
  /** A folder beside the entry with Handlebars templates. */
  readonly views?: string;
  /** A folder beside the entry with one JSON file a language. */
  readonly messages?: string;
  readonly navigation?: readonly NavigationEntry[];
  /** It is called once, at the start of the service or of a command. */
  setup(host: Host<Settings, Needs>): Contributions | Promise<Contributions>;
}

/** Checks the types of an extension, and gives it back. */
export const defineExtension = <Settings = undefined, const Needs extends Need = never>(
  extension: Extension<Settings, Needs>,
): Extension<Settings, Needs> => extension;
