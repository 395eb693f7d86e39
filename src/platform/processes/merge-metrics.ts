interface MetricFamily {
  readonly head: string[];
  readonly samples: string[];
}

/** Merges the metrics of several processes: each family appears once, with all samples. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, MetricFamily>();
  for (const text of texts) {
    let family: MetricFamily | undefined;
    for (const line of text.split('\n')) {
      const [, keyword, name = ''] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (keyword !== undefined) {
        family = families.get(name) ?? { head: [], samples: [] };
        families.set(name, family);
        if (!family.head.includes(line)) family.head.push(line);
      } else if (line !== '') family?.samples.push(line);
    }
  }
  return [...families.values()]
    .map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`)
    .join('\n');
}
