import type { SceneLayout } from './catalogue';
import type { FailoverTestbed } from './testbed';
import type { Findings } from '../../test/system/findings';
import { SceneReport } from './scene-report';
import type { Scene } from './scene';

/** A kind of failure, tried on dedicated models. */
export interface FailoverDrill {
  readonly name: string;
  readonly scenes: Readonly<Record<string, SceneLayout>>;
  run(context: FailoverDrillContext): Promise<void>;
}

export type PlayScene = (scene: Scene, report: SceneReport) => Promise<void>;

export class FailoverDrillContext {
  constructor(
    private readonly drill: FailoverDrill,
    readonly testbed: FailoverTestbed,
    private readonly findings: Findings,
  ) {}

  scene(name: string): Scene {
    const layout = this.drill.scenes[name];
    if (layout === undefined) throw new Error(`the drill ${this.drill.name} has no scene ${name}`);
    return this.testbed.scene({ drill: this.drill.name, name, layout });
  }

  /** Plays all scenes with a matching name concurrently; they are independent. */
  async inScenes(filter: RegExp, play: PlayScene): Promise<void> {
    const names = Object.keys(this.drill.scenes).filter((name) => filter.test(name));
    if (names.length === 0) throw new Error(`the drill ${this.drill.name} has no scenes like ${filter}`);
    const reports = await Promise.all(
      names.map(async (name) => {
        const report = new SceneReport(`${this.drill.name}: ${name}`);
        await play(this.scene(name), report);
        return report;
      }),
    );
    for (const report of reports) report.print(this.findings);
  }
}
