import type { Layout } from './catalogue';
import type { Testbed } from './testbed';
import type { Findings } from '../../test/system/findings';
import { Sheet } from './sheet';
import type { Scene } from './scene';

/** One thing that goes wrong, tried on models of its own. */
export interface Drill {
  readonly name: string;
  readonly scenes: Readonly<Record<string, Layout>>;
  run(context: DrillContext): Promise<void>;
}

export type Play = (scene: Scene, sheet: Sheet) => Promise<void>;

export class DrillContext {
  constructor(
    private readonly drill: Drill,
    readonly testbed: Testbed,
    private readonly findings: Findings,
  ) {}

  scene(name: string): Scene {
    const layout = this.drill.scenes[name];
    if (layout === undefined) throw new Error(`the drill ${this.drill.name} has no scene ${name}`);
    return this.testbed.scene({ drill: this.drill.name, name, layout });
  }

  /** The same in every scene whose name fits, all at once: they cannot meet. */
  async inScenes(filter: RegExp, play: Play): Promise<void> {
    const names = Object.keys(this.drill.scenes).filter((name) => filter.test(name));
    if (names.length === 0) throw new Error(`the drill ${this.drill.name} has no scenes like ${filter}`);
    const sheets = await Promise.all(
      names.map(async (name) => {
        const sheet = new Sheet(`${this.drill.name}: ${name}`);
        await play(this.scene(name), sheet);
        return sheet;
      }),
    );
    for (const sheet of sheets) sheet.print(this.findings);
  }
}
