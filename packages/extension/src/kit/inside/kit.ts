import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KitOptions, KitResult } from '../options';
import { copyExtension, type ExtensionCopy } from './copy';
import type { HookCall, HookOutcome } from './agent';
import { ServiceProcess, type ServiceProcessOptions, runRefusedStart } from './service-process';
import type { ContributionSummary, ExtensionDefinition, Plan } from './meddle';
import { findProduct } from './product';
import { StandIn } from './stand-in';
import { type Tenant, createTenants } from './tenants';

const TEXTS = [
  'Write to ada.lovelace@example.org or call +44 20 7946 0958, card 4111 1111 1111 1111, IBAN DE89370400440532013000.',
];
const MAX_CALL_MS = 30_000;

export interface KitCheck {
  readonly topic: string;
  readonly name: string;
  /** Reason to skip the check for this extension; null if it applies. */
  skip?(kit: Kit): string | null;
  run(kit: Kit): Promise<void>;
}

/** Thrown by a check that discovers while running that it has nothing to test. */
export class Skipped extends Error {}

export const skippedUnless = (parts: readonly unknown[], reason: string): string | null =>
  parts.length === 0 ? reason : null;

export async function resultOf(check: KitCheck, kit: Kit): Promise<KitResult> {
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

/** An extension under test: its copy, a supplier, and the running service. Each is created when first needed. */
export class Kit {
  private readonly folder = mkdtempSync(join(tmpdir(), 'switchboard-kit-'));
  private copy: ExtensionCopy | undefined;
  private supplier: StandIn | undefined;
  private runningService: ServiceProcess | undefined;
  private tenantPair: readonly [Tenant, Tenant] | undefined;
  private hasFailed = false;
  private readFailure: Error | null | undefined;

  constructor(
    private readonly path: string,
    readonly options: KitOptions,
  ) {
    // A database run by another account must reach its files here, or it stores them elsewhere.
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
    return (this.copy ??= copyExtension(this.path, this.plan));
  }

  /** Definition of the extension, available once it has been read. */
  get definition(): ExtensionDefinition {
    return JSON.parse(readFileSync(this.plan.definition, 'utf8')) as ExtensionDefinition;
  }

  /**
   * Makes the service read the extension in two refused starts: the first for its version, which reveals the names of
   * the settings, the second once its parts are known. Returns the failure, or null.
   */
  read(): Error | null {
    if (this.readFailure !== undefined) return this.readFailure;
    try {
      const definition = this.extension.wrapperWith({ ...this.plan, host: '^0' });
      this.runUntilWritten(this.plan.definition, this.optionsOf({ EXTENSIONS: definition }, 'read'));
      const parts = this.extension.wrapperWith({ ...this.plan, isReading: true });
      this.runUntilWritten(this.plan.facts, this.serviceOptions(parts, 'read'));
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

  private runUntilWritten(file: string, options: ServiceProcessOptions): void {
    const output = runRefusedStart(options);
    if (!existsSync(file)) throw new Error(output.slice(-2_000));
  }

  /** Calls a hook of the running extension. */
  async call(call: HookCall): Promise<HookOutcome> {
    await this.service();
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

  get texts(): readonly string[] {
    return this.options.texts ?? TEXTS;
  }

  /** Returns what the extension contributes, as recorded at the last start. */
  contributions(): ContributionSummary {
    return JSON.parse(readFileSync(this.plan.facts, 'utf8')) as ContributionSummary;
  }

  async standIn(): Promise<StandIn> {
    return (this.supplier ??= await StandIn.start());
  }

  async service(): Promise<ServiceProcess> {
    return (this.runningService ??= await this.start(this.extension.wrapper));
  }

  /** Stops the service, gracefully or by killing it, and starts it on the same data. */
  async restart(extension: string | null, mode: 'asked' | 'killed' = 'asked'): Promise<ServiceProcess> {
    await this.runningService?.stop(mode);
    this.runningService = undefined;
    return (this.runningService = await this.start(extension));
  }

  async refusedOutput(change: Partial<Plan>): Promise<string> {
    const wrapper = this.extension.wrapperWith({ ...this.plan, ...change });
    return ServiceProcess.startRefused(
      this.serviceOptions(wrapper, `refused-${Object.keys(change).join('-')}`),
    );
  }

  async tenants(): Promise<readonly [Tenant, Tenant]> {
    const service = await this.service();
    return (this.tenantPair ??= await createTenants(service, `${this.definition.id}/kit-people`));
  }

  async end(): Promise<void> {
    await this.runningService?.stop('asked');
    await this.supplier?.stop();
    this.copy?.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(extension: string | null): Promise<ServiceProcess> {
    if (this.hasFailed && extension !== null) throw new Skipped('the service does not start with it');
    const { url } = await this.standIn();
    this.hasFailed = true;
    const service = await ServiceProcess.start(this.serviceOptions(extension, 'data'));
    this.hasFailed = false;
    try {
      await service.addKitModel(url);
      return service;
    } catch (error) {
      await service.stop('asked');
      throw error;
    }
  }

  private serviceOptions(extension: string | null, data: string): ServiceProcessOptions {
    const { options } = this;
    const prefix = `EXT_${this.definition.id.toUpperCase().replaceAll('-', '_')}_`;
    const settings = Object.entries(options.settings ?? {}).map(([name, value]) => [
      prefix + name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      value,
    ]);
    const ownSettings = Object.fromEntries(settings) as Record<string, string>;
    return this.optionsOf({ ...ownSettings, ...options.environment, EXTENSIONS: extension ?? '' }, data);
  }

  private optionsOf(environment: Readonly<Record<string, string>>, data: string): ServiceProcessOptions {
    return {
      product: findProduct(this.options.product),
      dataFolder: join(this.folder, data),
      environment,
    };
  }
}
