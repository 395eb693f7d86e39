import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KitOptions, KitResult } from '../options';
import { copyOf, type ExtensionCopy } from './copy';
import type { HookCall, HookOutcome } from './agent';
import { House, type HouseOptions, refusedStart } from './house';
import type { Facts, FoundDefinition, Plan } from './meddle';
import { productIn } from './product';
import { StandIn } from './stand-in';
import { type Tenant, tenantsOf } from './tenants';

const TEXTS = [
  'Write to ada.lovelace@example.org or call +44 20 7946 0958, card 4111 1111 1111 1111, IBAN DE89370400440532013000.',
];
const MAX_CALL_MS = 30_000;

/** A check of an extension. It throws where it fails. */
export interface Check {
  readonly topic: string;
  readonly name: string;
  /** Why the check has nothing to test in this extension; null if it has. */
  skip?(kit: Kit): string | null;
  run(kit: Kit): Promise<void>;
}

/** Thrown by a check that finds out on its way that it cannot test anything. */
export class Skipped extends Error {}

export const skippedUnless = (parts: readonly unknown[], reason: string): string | null =>
  parts.length === 0 ? reason : null;

export async function resultOf(check: Check, kit: Kit): Promise<KitResult> {
  const { topic, name } = check;
  try {
    kit.mustBeRead();
    const skipped = check.skip?.(kit) ?? null;
    if (skipped !== null) throw new Skipped(skipped);
    await check.run(kit);
    return { topic, check: name, outcome: 'passed', reason: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { topic, check: name, outcome: error instanceof Skipped ? 'skipped' : 'failed', reason };
  }
}

/** An extension on trial: its copy, a supplier, and the service while it runs. Each is made when it is first needed. */
export class Kit {
  private readonly folder = mkdtempSync(join(tmpdir(), 'switchboard-kit-'));
  private copy: ExtensionCopy | undefined;
  private supplier: StandIn | undefined;
  private running: House | undefined;
  private people: readonly [Tenant, Tenant] | undefined;
  private hasFailed = false;
  private readFailure: Error | null | undefined;

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
      agent: inFolder('agent'),
    };
  }

  get extension(): ExtensionCopy {
    return (this.copy ??= copyOf(this.path, this.plan));
  }

  /** What it says of itself, once it has been read. */
  get definition(): FoundDefinition {
    return JSON.parse(readFileSync(this.plan.definition, 'utf8')) as FoundDefinition;
  }

  /**
   * Has the service read the extension in two starts that are refused: the first for its version, which shows what the
   * settings are called, the second once its parts are known. Returns why that failed, or null.
   */
  read(): Error | null {
    if (this.readFailure !== undefined) return this.readFailure;
    try {
      const definition = this.extension.wrapperWith({ ...this.plan, host: '^0' });
      this.mustWrite(this.plan.definition, this.optionsOf({ EXTENSIONS: definition }, 'read'));
      const parts = this.extension.wrapperWith({ ...this.plan, isReading: true });
      this.mustWrite(this.plan.facts, this.houseOptions(parts, 'read'));
      return (this.readFailure = null);
    } catch (error) {
      return (this.readFailure = error as Error);
    }
  }

  /** Throws the reason why the extension could not be read for the first check, and skips the others. */
  mustBeRead(): void {
    const failure = this.read();
    if (failure === null) return;
    if (this.hasFailed) throw new Skipped('the service cannot read the extension');
    this.hasFailed = true;
    throw failure;
  }

  private mustWrite(file: string, options: HouseOptions): void {
    const output = refusedStart(options);
    if (!existsSync(file)) throw new Error(output.slice(-2_000));
  }

  /** Calls a hook of the running extension. */
  async call(call: HookCall): Promise<HookOutcome> {
    await this.house();
    const response = await fetch(readFileSync(this.plan.agent, 'utf8'), {
      method: 'POST',
      body: JSON.stringify(call),
      signal: AbortSignal.timeout(MAX_CALL_MS),
    });
    return (await response.json()) as HookOutcome;
  }

  get prompt(): string {
    return this.options.prompt ?? 'Hello';
  }

  /** Answers in which masks find something. */
  get texts(): readonly string[] {
    return this.options.texts ?? TEXTS;
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

  /** Two people who own an organisation each. */
  async tenants(): Promise<readonly [Tenant, Tenant]> {
    const house = await this.house();
    return (this.people ??= await tenantsOf(house, `${this.definition.id}/kit-people`));
  }

  async end(): Promise<void> {
    await this.running?.stop('asked');
    await this.supplier?.stop();
    this.copy?.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(extension: string | null): Promise<House> {
    if (this.hasFailed && extension !== null) throw new Skipped('the service does not start with it');
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

  private houseOptions(extension: string | null, data: string): HouseOptions {
    const { options } = this;
    const prefix = `EXT_${this.definition.id.toUpperCase().replaceAll('-', '_')}_`;
    const settings = Object.entries(options.settings ?? {}).map(([name, value]) => [
      prefix + name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      value,
    ]);
    const own = Object.fromEntries(settings) as Record<string, string>;
    return this.optionsOf({ ...own, ...options.environment, EXTENSIONS: extension ?? '' }, data);
  }

  private optionsOf(environment: Readonly<Record<string, string>>, data: string): HouseOptions {
    return {
      product: productIn(this.options.product),
      dataFolder: join(this.folder, data),
      environment,
    };
  }
}
