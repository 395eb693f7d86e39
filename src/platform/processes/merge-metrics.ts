interface Family {
  readonly head: string[];
  readonly samples: string[];
}

/** The numbers of several processes as one text: a family stands once, with the samples of all. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) {
    let family: Family | undefined;
    for (const line of text.split('\n')) {
      const [, word, name = ''] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (word !== undefined) {
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
