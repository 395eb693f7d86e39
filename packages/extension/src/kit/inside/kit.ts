import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KitOptions, KitResult } from '../options';
import { copyOf, type ExtensionCopy } from './copy';
import { House } from './house';
import type { Facts, FoundDefinition, Plan } from './meddle';
import { productIn } from './product';
import { StandIn } from './stand-in';

/** A check of an extension. It throws where it fails. */
export interface Check {
  readonly topic: string;
  readonly name: string;
  run(kit: Kit): Promise<void>;
}

/** The check says nothing about this extension, or could not be tried here. */
export class NotTried extends Error {
  constructor(
    readonly outcome: 'does not apply' | 'not run',
    reason: string,
  ) {
    super(reason);
  }
}

/** What it was about, or the reason why there is nothing. */
export function wanted<Part>(parts: readonly Part[], reason: string): readonly [Part, ...Part[]] {
  const [first, ...others] = parts;
  if (first === undefined) throw new NotTried('does not apply', reason);
  return [first, ...others];
}

export async function resultOf(check: Check, kit: Kit): Promise<KitResult> {
  const { topic, name } = check;
  try {
    await kit.read();
    await check.run(kit);
    return { topic, check: name, outcome: 'held', reason: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome = error instanceof NotTried ? error.outcome : 'failed';
    return { topic, check: name, outcome, reason };
  }
}

/** An extension on trial: its copy, a supplier, and the service while it runs. Each is made when it is first needed. */
export class Kit {
  private readonly folder = mkdtempSync(join(tmpdir(), 'switchboard-kit-'));
  private copy: ExtensionCopy | undefined;
  private supplier: StandIn | undefined;
  private running: House | undefined;
  private hasFailed = false;

  constructor(
    private readonly path: string,
    readonly options: KitOptions,
  ) {
    // A database that another account runs has to reach its files in here, or it puts them elsewhere.
    chmodSync(this.folder, 0o711);
  }

  get plan(): Plan {
    const inFolder = (name: string): string => join(this.folder, name);
    return {
      definition: inFolder('definition.json'),
      facts: inFolder('facts.json'),
      control: inFolder('control'),
      delivered: inFolder('delivered'),
    };
  }

  get extension(): ExtensionCopy {
    return (this.copy ??= copyOf(this.path, this.plan));
  }

  /** What it says of itself, once it has been read. */
  get definition(): FoundDefinition {
    return JSON.parse(readFileSync(this.plan.definition, 'utf8')) as FoundDefinition;
  }

  /** It is read by the service, which lends it what it is made of; the start is then refused for its version. */
  async read(): Promise<void> {
    if (existsSync(this.plan.definition)) return;
    if (this.hasFailed) throw new NotTried('not run', 'the service cannot read it');
    this.hasFailed = true;
    const wrapper = this.extension.wrapperWith({ ...this.plan, host: '^0' });
    const said = await House.refused(this.optionsOf({ EXTENSIONS: wrapper }, 'read'));
    if (!existsSync(this.plan.definition)) throw new Error(said.slice(-2_000));
    this.hasFailed = false;
  }

  get prompt(): string {
    return this.options.prompt ?? 'Hello';
  }

  /** What the extension adds, as it was seen at the last start. */
  facts(): Facts {
    return JSON.parse(readFileSync(this.plan.facts, 'utf8')) as Facts;
  }

  async standIn(): Promise<StandIn> {
    return (this.supplier ??= await StandIn.start());
  }

  /** The service with the extension. */
  async house(): Promise<House> {
    return (this.running ??= await this.start(this.extension.wrapper));
  }

  /** What was running ends, as its machine would or at once, and the service starts on the same data. */
  async again(extension: string | null, how: 'asked' | 'killed' = 'asked'): Promise<House> {
    await this.running?.stop(how);
    this.running = undefined;
    return (this.running = await this.start(extension));
  }

  /** A start that is to be refused, as what it said. */
  async refusal(change: Partial<Plan>): Promise<string> {
    const wrapper = this.extension.wrapperWith({ ...this.plan, ...change });
    return House.refused(this.houseOptions(wrapper, `refused-${Object.keys(change).join('-')}`));
  }

  async end(): Promise<void> {
    await this.running?.stop('asked');
    await this.supplier?.stop();
    this.copy?.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(extension: string | null): Promise<House> {
    if (this.hasFailed && extension !== null)
      throw new NotTried('not run', 'the service does not start with it');
    const { url } = await this.standIn();
    this.hasFailed = true;
    const house = await House.start(this.houseOptions(extension, 'data'));
    this.hasFailed = false;
    try {
      await house.furnish(url);
      return house;
    } catch (error) {
      await house.stop('asked');
      throw error;
    }
  }

  private houseOptions(extension: string | null, data: string) {
    const { options } = this;
    const prefix = `EXT_${this.definition.id.toUpperCase().replaceAll('-', '_')}_`;
    const settings = Object.entries(options.settings ?? {}).map(([name, value]) => [
      prefix + name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      value,
    ]);
    const own = Object.fromEntries(settings) as Record<string, string>;
    return this.optionsOf({ ...own, ...options.environment, EXTENSIONS: extension ?? '' }, data);
  }

  private optionsOf(environment: Readonly<Record<string, string>>, data: string) {
    return {
      product: productIn(this.options.product),
      dataFolder: join(this.folder, data),
      environment,
    };
  }
}
