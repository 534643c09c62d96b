/** What policies read headers from, whatever the door keeps them in. */
export interface HeaderSource {
  /** One value by its lower-case name; repeated lines come joined by `, `. */
  get(name: string): string | null;
}
