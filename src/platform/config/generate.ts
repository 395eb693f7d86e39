import { declaredSettings, type SettingMetadata } from './setting.decorator';
// Declares the settings this file describes.
import './settings';

/** `.env.example` lists every variable, commented out, with its default. */
export function environmentExample(): string {
  const blocks = groups().map(([group, settings]) => {
    const entries = settings.map(({ name, describe, as, default: fallback, unset }) =>
      [
        `# ${describe}`,
        `# ${as.expects}${unset ? `; unset: ${unset}` : ''}`,
        `#${name}=${fallback ?? ''}`,
      ].join('\n'),
    );
    return [`### ${group}`, ...entries].join('\n\n');
  });
  const intro = [
    '# Every setting with its default. Nothing needs to be set for a first start.',
    '# NAME_FILE instead of NAME names a file that holds the value.',
    '# Generated from src/platform/config/settings.ts.',
  ].join('\n');
  return `${[intro, ...blocks].join('\n\n')}\n`;
}

export function configurationPage(): string {
  const tables = groups().map(([group, settings]) =>
    [
      `## ${group}`,
      '',
      '| Variable | Meaning | Expected | Default | Secret |',
      '| --- | --- | --- | --- | --- |',
      ...settings.map(row),
    ].join('\n'),
  );
  return `${[intro, ...tables].join('\n\n')}\n`;
}

const intro = `# Configuration

<!-- Generated from src/platform/config/settings.ts. -->

The service is configured by environment variables, read once at the start: a change takes effect with the next start. Nothing needs to be set for a first start. \`npm start\`, \`npm run serve\` and \`npm run cli\` also read a file \`.env\` in the project's folder, such as a copy of \`.env.example\`; what the environment says wins.

- \`NAME_FILE\` instead of \`NAME\` names a file that holds the value, as container secrets do; giving both is a fault.
- An empty variable counts as unset.
- A faulty configuration lists all its faults and ends the process with exit code 78. Values of secrets are never shown.
- In production, placeholder secrets and secrets shorter than 32 characters are refused.`;

function row({ name, describe, as, default: fallback, unset, secret }: SettingMetadata): string {
  const defaultText = fallback ? `\`${fallback}\`` : (unset ?? 'none');
  const cells = [`\`${name}\``, describe, as.expects, defaultText, secret ? 'yes' : ''];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function groups(): [string, SettingMetadata[]][] {
  return [...Map.groupBy(declaredSettings, ({ group }) => group)];
}
