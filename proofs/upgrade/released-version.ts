import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from '#product/views';

/** Versions from which upgrades are supported, oldest first; each is a commit of this repository. */
export const releasedVersions = [
  { name: '0.1.0', commit: '89c7c7b3fb67926ea6c683938b070c4e46b5e38b' },
  { name: '0.9.0', commit: '8aee81211e984f6e9c13914461dcb33395c17aa2' },
  { name: '1.0.0', commit: '73787d76154ce845f68a1f7d625866d339238b4f' },
] as const;

/** A version built from its own sources with the installed packages. */
export class ReleasedVersion {
  private constructor(private readonly folder: string) {}

  static build(commit: string): ReleasedVersion {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-version-'));
    try {
      const archive = join(folder, 'sources.tar');
      execFileSync('git', ['archive', '--output', archive, commit], { cwd: projectFolder });
      const sources = join(folder, 'sources');
      mkdirSync(sources);
      execFileSync('tar', ['-xf', archive, '-C', sources]);
      warnAboutOtherPackages(sources);
      symlinkSync(join(projectFolder, 'node_modules'), join(sources, 'node_modules'));
      const run = (script: string, ...words: string[]): void =>
        void execFileSync(process.execPath, [script, ...words], { cwd: sources, stdio: 'pipe' });
      run('node_modules/@nestjs/cli/bin/nest.js', 'build');
      run('scripts/bundle.cjs');
      return new ReleasedVersion(folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get bundle(): string {
    return join(this.folder, 'sources', 'dist', 'bundle');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function warnAboutOtherPackages(sources: string): void {
  const packagesOf = (folder: string): string =>
    JSON.stringify(
      (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as LockfilePackages).dependencies,
    );
  if (packagesOf(sources) !== packagesOf(projectFolder))
    process.stdout.write('its packages differ from those here: it runs with those here\n');
}

interface LockfilePackages {
  readonly dependencies: Readonly<Record<string, string>>;
}
