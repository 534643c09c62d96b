/** What headers are read from, whatever holds them. */
export interface HeaderSource {
  /** One value by its lower-case name; repeated lines come joined by `, `. */
  get(name: string): string | null;
}

/** What policies read headers from. */
export interface RequestHeaders extends HeaderSource {
  /** Whether several lines have this lower-case name. */
  isRepeated(name: string): boolean;
}
