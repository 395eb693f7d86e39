import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isKeyOf } from './egress-readers';
import { errorCode } from './error-code';
import { isLoopbackOrigin } from './loopback';
import { placeholderProblem, urlPasswordProblem } from './placeholder';
import { requiresExistingSecrets } from './data-folder';
import { readOrCreateSecrets, readSecrets, secretProperties } from './secrets';
import { declaredSettings, type SettingMetadata, unreadable } from './setting.decorator';
import { Settings } from './settings';
import { type SettingIssue, SettingsError } from './settings-error';
import { secretProblem } from './sinks';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface LoadOptions {
  readonly terminal?: boolean;
  /** Whether missing secrets are created; false for commands that must not change the data folder. */
  readonly createsSecrets?: boolean;
}

/** Reads, checks and freezes the settings; throws a SettingsError that lists every issue. */
export function loadSettings(
  env: NodeJS.ProcessEnv,
  { terminal = process.stdout.isTTY, createsSecrets: makesSecrets = true }: LoadOptions = {},
): Settings {
  const issues: SettingIssue[] = [];
  const values = declaredSettings.map((setting) => [setting.property, valueOf(setting, env, issues)]);
  const settings: Writable<Settings> = Object.assign(
    new Settings(),
    Object.fromEntries(values),
  ) as Writable<Settings>;
  // Only nodes of the portal run jobs, and the simulated supplier needs a single process.
  if (settings.serve === 'gateway') settings.workers = 'off';
  if (hasSeveralProcesses(settings) && settings.sandbox === 'auto') settings.sandbox = 'off';
  // An installation that others can reach is in production, whatever NODE_ENV says.
  if (isPublic(settings)) settings.environment = 'production';
  issues.push(...crossIssues(settings));
  if (issues.length === 0 && makesSecrets) completeSecrets(settings, issues);
  if (issues.length > 0) throw new SettingsError(inDeclaredOrder(issues));

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

function valueOf(setting: SettingMetadata, env: NodeJS.ProcessEnv, issues: SettingIssue[]): unknown {
  const text = textOf(setting, env, issues);
  if (text === undefined) return undefined;
  const value = setting.as.read(text);
  if (value === undefined) issues.push({ name: setting.name, problem: `expected ${setting.as.expects}` });
  return value ?? unreadable;
}

function textOf(
  setting: SettingMetadata,
  env: NodeJS.ProcessEnv,
  issues: SettingIssue[],
): string | undefined {
  const { name } = setting;
  const direct = env[name] || undefined;
  const file = env[`${name}_FILE`] || undefined;
  if (direct !== undefined && file !== undefined) {
    issues.push({ name, problem: `given twice, as ${name} and as ${name}_FILE` });
    return undefined;
  }
  if (file === undefined) return direct ?? setting.default;
  try {
    const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (content !== '') return content;
    issues.push({ name: `${name}_FILE`, problem: 'the file is empty' });
  } catch (error) {
    issues.push({ name: `${name}_FILE`, problem: `the file cannot be read (${errorCode(error)})` });
  }
  return undefined;
}

/** A value that is not a URL has an issue of its own. */
const isPublic = ({ baseUrl }: Settings): boolean =>
  typeof baseUrl === 'string' && !isLoopbackOrigin(baseUrl);

function crossIssues(settings: Settings): SettingIssue[] {
  const issues: SettingIssue[] = [];
  if (settings.migrationDatabaseUrl !== undefined && settings.databaseUrl === undefined) {
    issues.push({ name: 'MIGRATION_DATABASE_URL', problem: 'needs DATABASE_URL beside it' });
  }
  const checks = [
    backupIssues,
    processIssues,
    sandboxIssues,
    processorIssues,
    providerIssues,
    egressIssues,
    (input: Settings) => missingSecretIssues(input, 'gate', 'httpGates', 'httpGateSecrets'),
    (input: Settings) => missingSecretIssues(input, 'tap', 'httpTaps', 'httpTapSecrets'),
    sinkIssues,
    telemetryIssues,
  ];
  issues.push(...checks.flatMap((check) => issuesIn(check, settings)));
  if (settings.environment !== 'production') return issues;
  for (const property of secretProperties) {
    const problem = placeholderProblem(settings[property]);
    if (problem) issues.push({ name: nameOf(property), problem });
  }
  for (const property of ['databaseUrl', 'migrationDatabaseUrl', 'redisUrl', 'smtpUrl'] as const) {
    const problem = urlPasswordProblem(settings[property]);
    if (problem) issues.push({ name: nameOf(property), problem });
  }
  return issues;
}

class UnreadableSetting extends Error {}

/** Issues of a check; none if the check depends on an unreadable setting, which is listed separately. */
function issuesIn(check: (settings: Settings) => SettingIssue[], settings: Settings): SettingIssue[] {
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

/** An unreadable number has an issue of its own. */
const hasSeveralProcesses = ({ processes }: Settings): boolean =>
  typeof processes === 'number' && processes > 1;

/** State that one process keeps in memory cannot be shared by several. */
function processIssues(settings: Settings): SettingIssue[] {
  if (!hasSeveralProcesses(settings)) return [];
  const { redisUrl, sandbox, processor } = settings;
  const issue = (problem: string): SettingIssue => ({ name: 'PROCESSES', problem });
  return [
    ...(redisUrl === undefined
      ? [issue('more than one needs REDIS_URL: each would count the rates of keys by itself')]
      : []),
    ...(sandbox === 'on' || processor === 'sandbox'
      ? [issue('more than one cannot share a sandbox (SANDBOX, PROCESSOR)')]
      : []),
  ];
}

/** Every service must have a secret. An unreadable list has an issue of its own. */
function missingSecretIssues(
  settings: Settings,
  kind: string,
  services: 'httpGates' | 'httpTaps',
  secrets: 'httpGateSecrets' | 'httpTapSecrets',
): SettingIssue[] {
  const [serviceList, secretsByName]: readonly unknown[] = [settings[services], settings[secrets]];
  if (!Array.isArray(serviceList) || !(secretsByName instanceof Map)) return [];
  return (serviceList as Settings['httpTaps'])
    .filter(({ name }) => !secretsByName.has(name))
    .map(({ name }) => ({ name: nameOf(secrets), problem: `has no secret for the ${kind} ${name}` }));
}

function egressIssues({
  egressClientCertificate: certificate,
  egressClientKey: key,
}: Settings): SettingIssue[] {
  const [name, keyName] = ['EGRESS_CLIENT_CERTIFICATE', 'EGRESS_CLIENT_KEY'];
  if (certificate === undefined && key === undefined) return [];
  if (key === undefined) return [{ name, problem: `needs ${keyName} beside it` }];
  if (certificate === undefined) return [{ name: keyName, problem: `needs ${name} beside it` }];
  // Unreadable texts have issues of their own.
  if (typeof certificate !== 'string' || typeof key !== 'string') return [];
  return isKeyOf(certificate, key) ? [] : [{ name: keyName, problem: `is not the key of ${name}` }];
}

function sinkIssues(settings: Settings): SettingIssue[] {
  const [sinkList, secrets]: readonly unknown[] = [settings.sinks, settings.sinkSecrets];
  if (!Array.isArray(sinkList) || !(secrets instanceof Map)) return [];
  return (sinkList as Settings['sinks'])
    .map((sink) => secretProblem(sink, secrets as Settings['sinkSecrets']))
    .filter((problem) => problem !== null)
    .map((problem) => ({ name: nameOf('sinkSecrets'), problem }));
}

/** A missing key must not be discovered only when a backup is needed. */
function backupIssues({ backupTarget, backupTargetKey, backupKey }: Settings): SettingIssue[] {
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

/** A setting that one kind of identity provider does not support must not seem to be in force. */
function providerIssues(settings: Settings): SettingIssue[] {
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

/** Free credit must be available only to the operator at this machine. */
function sandboxIssues(settings: Settings): SettingIssue[] {
  if (settings.processor !== 'sandbox') return [];
  const issue = (problem: string): SettingIssue => ({ name: 'PROCESSOR', problem });
  const keys = [
    settings.processorSecretKey,
    settings.processorPublishableKey,
    settings.processorWebhookSecret,
  ];
  return [
    ...(settings.environment === 'production' ? [issue('is never sandbox in production')] : []),
    ...(isPublic(settings)
      ? [issue('is sandbox only where BASE_URL names this machine, such as http://localhost:3000')]
      : []),
    ...(keys.some((key) => key !== undefined) ? [issue('is either sandbox or has keys of an account')] : []),
  ];
}

/** Keys of two modes would sell in one mode and be paid in the other. */
function processorIssues({ processorSecretKey, processorPublishableKey }: Settings): SettingIssue[] {
  const name = 'PROCESSOR_PUBLISHABLE_KEY';
  if (processorPublishableKey === undefined) return [];
  if (processorSecretKey === undefined) return [{ name, problem: 'needs PROCESSOR_SECRET_KEY beside it' }];
  const modeOf = (key: string): string => key.slice(3, 7);
  return modeOf(processorSecretKey) === modeOf(processorPublishableKey)
    ? []
    : [{ name, problem: 'is of another mode (test or live) than PROCESSOR_SECRET_KEY' }];
}

/** Errors that OpenTelemetry's packages would correct silently, or report only once no data arrives. */
function telemetryIssues(settings: Settings): SettingIssue[] {
  const issues: SettingIssue[] = [];
  if (settings.otelSpanBatch > settings.otelSpanQueue)
    issues.push({ name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', problem: 'is more than OTEL_BSP_MAX_QUEUE_SIZE' });
  if ((settings.otlpClientCertificate === undefined) !== (settings.otlpClientKey === undefined))
    issues.push({
      name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
      problem: 'and OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE need one another',
    });
  return issues;
}

/** Other secrets would recognise no key and decrypt nothing. */
const MISSING_SECRETS =
  'is missing: the data folder has a database and no secrets.json, so the service was given its secrets; give the same here';

/**
 * Several nodes can share an external database, and secrets created by each would differ. In production they must
 * therefore be configured.
 */
function completeSecrets(settings: Writable<Settings>, issues: SettingIssue[]): void {
  const missing = secretProperties.filter((property) => settings[property] === undefined);
  if (missing.length === 0) return;
  if (settings.environment === 'production' && settings.databaseUrl !== undefined) {
    const problem =
      'must be set in production with DATABASE_URL: as secrets.json in the data folder has it; ' +
      'for a new installation openssl rand -base64 48 makes one';
    issues.push(...missing.map((property) => ({ name: nameOf(property), problem })));
    return;
  }
  try {
    const isInitialised = settings.databaseUrl === undefined && requiresExistingSecrets(settings.dataFolder);
    const created = isInitialised
      ? readSecrets(settings.dataFolder)
      : readOrCreateSecrets(settings.dataFolder);
    if (created === undefined) {
      issues.push(...missing.map((property) => ({ name: nameOf(property), problem: MISSING_SECRETS })));
      return;
    }
    for (const property of missing) settings[property] = created[property];
  } catch (error) {
    issues.push({ name: 'DATA_FOLDER', problem: error instanceof Error ? error.message : String(error) });
  }
}

function nameOf(property: string): string {
  return declaredSettings.find((setting) => setting.property === property)?.name ?? property;
}

function inDeclaredOrder(issues: SettingIssue[]): SettingIssue[] {
  const position = ({ name }: SettingIssue): number =>
    declaredSettings.findIndex((setting) => setting.name === name.replace(/_FILE$/, ''));
  return issues.sort((left, right) => position(left) - position(right));
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
