import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isKeyOf } from './egress-readers';
import { errorCode } from './error-code';
import { isLoopbackOrigin } from './loopback';
import { placeholderFault, urlPasswordFault } from './placeholder';
import { needsItsSecrets } from './data-folder';
import { readOrCreateSecrets, readSecrets, secretProperties } from './secrets';
import { declaredSettings, type SettingMetadata, unreadable } from './setting.decorator';
import { Settings } from './settings';
import { type SettingFault, SettingsError } from './settings-error';
import { secretProblem } from './sinks';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface LoadOptions {
  /** The output goes to a terminal. */
  readonly terminal?: boolean;
  /** False: secrets that are not given stay unknown. A command that must leave the data folder alone wants it so. */
  readonly makesSecrets?: boolean;
}

/** Reads, checks and freezes the settings; throws a SettingsError that lists every fault. */
export function loadSettings(
  env: NodeJS.ProcessEnv,
  { terminal = process.stdout.isTTY, makesSecrets = true }: LoadOptions = {},
): Settings {
  const faults: SettingFault[] = [];
  const given = declaredSettings.map((setting) => [setting.property, valueOf(setting, env, faults)]);
  const settings: Writable<Settings> = Object.assign(
    new Settings(),
    Object.fromEntries(given),
  ) as Writable<Settings>;
  // Jobs belong to the nodes of the portal, and the simulated supplier to a single process.
  if (settings.serve === 'gateway') settings.workers = 'off';
  if (areSeveral(settings) && settings.sandbox === 'auto') settings.sandbox = 'off';
  // An installation that others reach is in production, whatever NODE_ENV says.
  if (isPublic(settings)) settings.environment = 'production';
  faults.push(...crossFaults(settings));
  if (faults.length === 0 && makesSecrets) completeSecrets(settings, faults);
  if (faults.length > 0) throw new SettingsError(inDeclaredOrder(faults));

  for (const slot of slots) {
    if (settings[`${slot}Kind`] === 'github' && settings[`${slot}ClientId`] !== undefined)
      settings[`${slot}Issuer`] ??= 'https://github.com';
  }
  settings.baseUrl ??= `http://localhost:${settings.port}`;
  if (settings.processor === 'sandbox') {
    settings.processorSecretKey = `sk_test_${randomBytes(16).toString('hex')}`;
    settings.processorWebhookSecret = `whsec_${randomBytes(16).toString('hex')}`;
  }
  settings.logFormat ??= terminal && settings.environment === 'development' ? 'pretty' : 'json';
  return deepFreeze(settings);
}

function valueOf(setting: SettingMetadata, env: NodeJS.ProcessEnv, faults: SettingFault[]): unknown {
  const text = textOf(setting, env, faults);
  if (text === undefined) return undefined;
  const value = setting.as.read(text);
  if (value === undefined) faults.push({ name: setting.name, problem: `expected ${setting.as.expects}` });
  return value ?? unreadable;
}

function textOf(
  setting: SettingMetadata,
  env: NodeJS.ProcessEnv,
  faults: SettingFault[],
): string | undefined {
  const { name } = setting;
  const direct = env[name] || undefined;
  const file = env[`${name}_FILE`] || undefined;
  if (direct !== undefined && file !== undefined) {
    faults.push({ name, problem: `given twice, as ${name} and as ${name}_FILE` });
    return undefined;
  }
  if (file === undefined) return direct ?? setting.default;
  try {
    const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (content !== '') return content;
    faults.push({ name: `${name}_FILE`, problem: 'the file is empty' });
  } catch (error) {
    faults.push({ name: `${name}_FILE`, problem: `the file cannot be read (${errorCode(error)})` });
  }
  return undefined;
}

/** A text that is no address is a fault of its own. */
const isPublic = ({ baseUrl }: Settings): boolean =>
  typeof baseUrl === 'string' && !isLoopbackOrigin(baseUrl);

function crossFaults(settings: Settings): SettingFault[] {
  const faults: SettingFault[] = [];
  if (settings.migrationDatabaseUrl !== undefined && settings.databaseUrl === undefined) {
    faults.push({ name: 'MIGRATION_DATABASE_URL', problem: 'needs DATABASE_URL beside it' });
  }
  const checks = [
    backupFaults,
    processFaults,
    sandboxFaults,
    processorFaults,
    providerFaults,
    egressFaults,
    (given: Settings) => unsigned(given, 'gate', 'httpGates', 'httpGateSecrets'),
    (given: Settings) => unsigned(given, 'tap', 'httpTaps', 'httpTapSecrets'),
    sinkFaults,
    telemetryFaults,
  ];
  faults.push(...checks.flatMap((check) => faultsIn(check, settings)));
  if (settings.environment !== 'production') return faults;
  for (const property of secretProperties) {
    const problem = placeholderFault(settings[property]);
    if (problem) faults.push({ name: nameOf(property), problem });
  }
  for (const property of ['databaseUrl', 'migrationDatabaseUrl', 'redisUrl', 'smtpUrl'] as const) {
    const problem = urlPasswordFault(settings[property]);
    if (problem) faults.push({ name: nameOf(property), problem });
  }
  return faults;
}

class UnreadableSetting extends Error {}

/** Faults of a check; none if it depends on a setting that cannot be read, which is in the list on its own account. */
function faultsIn(check: (settings: Settings) => SettingFault[], settings: Settings): SettingFault[] {
  const readable = new Proxy(settings, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(target, property);
      if (value === unreadable) throw new UnreadableSetting(String(property));
      return value;
    },
  });
  try {
    return check(readable);
  } catch (error) {
    if (error instanceof UnreadableSetting) return [];
    throw error;
  }
}

/** A number that cannot be read is a fault of its own. */
const areSeveral = ({ processes }: Settings): boolean => typeof processes === 'number' && processes > 1;

/** What one process keeps to itself cannot be shared by several. */
function processFaults(settings: Settings): SettingFault[] {
  if (!areSeveral(settings)) return [];
  const { redisUrl, sandbox, processor } = settings;
  const fault = (problem: string): SettingFault => ({ name: 'PROCESSES', problem });
  return [
    ...(redisUrl === undefined
      ? [fault('more than one needs REDIS_URL: each would count the rates of keys by itself')]
      : []),
    ...(sandbox === 'on' || processor === 'sandbox'
      ? [fault('more than one cannot share a sandbox (SANDBOX, PROCESSOR)')]
      : []),
  ];
}

/** Every service has a secret. A list that cannot be read is a fault of its own. */
function unsigned(
  settings: Settings,
  kind: string,
  services: 'httpGates' | 'httpTaps',
  secrets: 'httpGateSecrets' | 'httpTapSecrets',
): SettingFault[] {
  const [listed, known]: readonly unknown[] = [settings[services], settings[secrets]];
  if (!Array.isArray(listed) || !(known instanceof Map)) return [];
  return (listed as Settings['httpTaps'])
    .filter(({ name }) => !known.has(name))
    .map(({ name }) => ({ name: nameOf(secrets), problem: `has no secret for the ${kind} ${name}` }));
}

/** A certificate is of no use without its key, and with another one. */
function egressFaults({
  egressClientCertificate: certificate,
  egressClientKey: key,
}: Settings): SettingFault[] {
  const [name, keyName] = ['EGRESS_CLIENT_CERTIFICATE', 'EGRESS_CLIENT_KEY'];
  if (certificate === undefined && key === undefined) return [];
  if (key === undefined) return [{ name, problem: `needs ${keyName} beside it` }];
  if (certificate === undefined) return [{ name: keyName, problem: `needs ${name} beside it` }];
  // Texts that cannot be read are faults of their own.
  if (typeof certificate !== 'string' || typeof key !== 'string') return [];
  return isKeyOf(certificate, key) ? [] : [{ name: keyName, problem: `is not the key of ${name}` }];
}

function sinkFaults(settings: Settings): SettingFault[] {
  const [listed, secrets]: readonly unknown[] = [settings.sinks, settings.sinkSecrets];
  if (!Array.isArray(listed) || !(secrets instanceof Map)) return [];
  return (listed as Settings['sinks'])
    .map((sink) => secretProblem(sink, secrets as Settings['sinkSecrets']))
    .filter((problem) => problem !== null)
    .map((problem) => ({ name: nameOf('sinkSecrets'), problem }));
}

/** Backups that nobody could read must not be found out about when one is needed. */
function backupFaults({ backupTarget, backupTargetKey, backupKey }: Settings): SettingFault[] {
  if (typeof backupTarget !== 'string') return [];
  const isStore = backupTarget.startsWith('s3:');
  return [
    ...(backupKey === undefined
      ? [
          {
            name: 'BACKUP_KEY',
            problem:
              'must be set beside BACKUP_TARGET; openssl rand -base64 32 makes one, to be kept elsewhere',
          },
        ]
      : []),
    ...(isStore && backupTargetKey === undefined
      ? [{ name: 'BACKUP_TARGET_KEY', problem: 'must be set for a BACKUP_TARGET that begins with s3://' }]
      : []),
  ];
}

const slots = ['idp1', 'idp2'] as const;

/** A setting that one kind of identity provider does not know must not be taken for a rule that holds. */
function providerFaults(settings: Settings): SettingFault[] {
  return slots.flatMap((slot) => {
    const name = slot.toUpperCase();
    if (settings[`${slot}Kind`] === 'openid')
      return settings[`${slot}ApiUrl`] === undefined
        ? []
        : [{ name: `${name}_API_URL`, problem: `needs ${name}_KIND=github` }];
    return settings[`${slot}Roles`] === undefined
      ? []
      : [{ name: `${name}_ROLES`, problem: 'is for OpenID Connect: GitHub names no groups' }];
  });
}

/** Credit for nothing must be out of reach of everybody but the operator at this machine. */
function sandboxFaults(settings: Settings): SettingFault[] {
  if (settings.processor !== 'sandbox') return [];
  const fault = (problem: string): SettingFault => ({ name: 'PROCESSOR', problem });
  const keys = [
    settings.processorSecretKey,
    settings.processorPublishableKey,
    settings.processorWebhookSecret,
  ];
  return [
    ...(settings.environment === 'production' ? [fault('is never sandbox in production')] : []),
    ...(isPublic(settings)
      ? [fault('is sandbox only where BASE_URL names this machine, such as http://localhost:3000')]
      : []),
    ...(keys.some((key) => key !== undefined) ? [fault('is either sandbox or has keys of an account')] : []),
  ];
}

/** Keys of two modes would sell in one and be paid in the other. */
function processorFaults({ processorSecretKey, processorPublishableKey }: Settings): SettingFault[] {
  const name = 'PROCESSOR_PUBLISHABLE_KEY';
  if (processorPublishableKey === undefined) return [];
  if (processorSecretKey === undefined) return [{ name, problem: 'needs PROCESSOR_SECRET_KEY beside it' }];
  const modeOf = (key: string): string => key.slice(3, 7);
  return modeOf(processorSecretKey) === modeOf(processorPublishableKey)
    ? []
    : [{ name, problem: 'is of another mode (test or live) than PROCESSOR_SECRET_KEY' }];
}

/** What OpenTelemetry's packages would put right in silence, or only tell once nothing arrives. */
function telemetryFaults(settings: Settings): SettingFault[] {
  const faults: SettingFault[] = [];
  if (settings.otelSpanBatch > settings.otelSpanQueue)
    faults.push({ name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', problem: 'is more than OTEL_BSP_MAX_QUEUE_SIZE' });
  if ((settings.otlpClientCertificate === undefined) !== (settings.otlpClientKey === undefined))
    faults.push({
      name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
      problem: 'and OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE need one another',
    });
  return faults;
}

/** Other secrets would know no key and read nothing that is encrypted. */
const LEFT_OUT =
  'is missing: the data folder has a database and no secrets.json, so the service was given its secrets; give the same here';

/**
 * With an external database several nodes may share it, and secrets made up by each would not agree:
 * in production they must then be given.
 */
function completeSecrets(settings: Writable<Settings>, faults: SettingFault[]): void {
  const missing = secretProperties.filter((property) => settings[property] === undefined);
  if (missing.length === 0) return;
  if (settings.environment === 'production' && settings.databaseUrl !== undefined) {
    const problem =
      'must be set in production with DATABASE_URL: as secrets.json in the data folder has it; ' +
      'for a new installation openssl rand -base64 48 makes one';
    faults.push(...missing.map((property) => ({ name: nameOf(property), problem })));
    return;
  }
  try {
    const isBegun = settings.databaseUrl === undefined && needsItsSecrets(settings.dataFolder);
    const created = isBegun ? readSecrets(settings.dataFolder) : readOrCreateSecrets(settings.dataFolder);
    if (created === undefined) {
      faults.push(...missing.map((property) => ({ name: nameOf(property), problem: LEFT_OUT })));
      return;
    }
    for (const property of missing) settings[property] = created[property];
  } catch (error) {
    faults.push({ name: 'DATA_FOLDER', problem: error instanceof Error ? error.message : String(error) });
  }
}

function nameOf(property: string): string {
  return declaredSettings.find((setting) => setting.property === property)?.name ?? property;
}

function inDeclaredOrder(faults: SettingFault[]): SettingFault[] {
  const position = ({ name }: SettingFault): number =>
    declaredSettings.findIndex((setting) => setting.name === name.replace(/_FILE$/, ''));
  return faults.sort((left, right) => position(left) - position(right));
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
